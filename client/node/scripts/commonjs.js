// Marks dist/cjs as CommonJS, since the package itself is made of ES modules.
import { writeFileSync } from "node:fs";

writeFileSync("dist/cjs/package.json", '{"type": "commonjs"}\n');
