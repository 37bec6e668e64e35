module openaigo_test

go 1.26.0

// The latest takes two minutes of CPU to compile, this one twenty seconds; both speak the same API.
require github.com/openai/openai-go/v3 v3.1.0

require (
	github.com/tidwall/gjson v1.14.4 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
)
