// Package askonce is the Go client of AskOnce, a sidecar that tells an LLM gateway whether it already has the answer.
// It asks within 50 ms or goes on without: when the sidecar is down, slow or broken, the gateway gets a decision that
// says "call the provider", never an error.
//
// Make one Client per process with New, describe each request with OpenAIChat, OpenAIResponses, OpenAIEmbeddings or
// AnthropicMessages after routing, and ask with Lookup; store what the provider answered with Store. Package
// askoncetest has a stand-in for your tests, package streams turns recorded streams into documents and back.
package askonce
