// Numbers as people read them, each with its unit.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const count = (number) => whole.format(number);
export const time = (ms) => clock.format(ms);
export const date = (ms) => day.format(ms);
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** A share as percent, with as many digits as tell something: never 100 % or 0 % where it is not. */
export function percent(share) {
  if (share == null) return "–";
  const shown = share * 100;
  if (share > 0 && shown < 0.1) return "< 0.1";
  if (share < 1 && shown > 99.9) return "> 99.9";
  return shown.toFixed(1);
}

export function rate(perSecond) {
  if (perSecond === 0) return "0";
  if (perSecond >= 100) return count(perSecond);
  return perSecond.toFixed(perSecond >= 10 ? 1 : 2);
}

/** Seconds as a number and its unit. */
export function duration(seconds) {
  if (seconds < 1e-3) return [String(Math.round(seconds * 1e6)), "µs"];
  if (seconds < 1) return [String(Number((seconds * 1e3).toPrecision(3))), "ms"];
  if (seconds < 120) return [String(Number(seconds.toPrecision(3))), "s"];
  if (seconds < 7200) return [String(Math.round(seconds / 60)), "min"];
  if (seconds < 172800) return [String(Math.round(seconds / 3600)), "h"];
  return [String(Math.round(seconds / 86400)), "d"];
}

export const span = (seconds) => duration(seconds).join(" ");

export function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = size < 1 ? 0 : Math.min(Math.floor(Math.log2(size) / 10), units.length - 1);
  const shown = size / 1024 ** power;
  return [power === 0 || shown >= 100 ? count(shown) : shown.toFixed(1), units[power]];
}

export function dollars(amount) {
  if (amount > 0 && amount < 0.01) return `$${amount.toPrecision(2)}`;
  return `$${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
