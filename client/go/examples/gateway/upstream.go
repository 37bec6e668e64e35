package main

import (
	"bytes"
	"io"
	"net/http"
)

// forwardedHeaders go to the provider; the caller's key does not.
var forwardedHeaders = append([]string{"Content-Type", "Accept", "User-Agent"}, keyedHeaders...)

// keptHeaders of an answer are not handed on: they belong to the connection with the provider, or are the gateway's.
var keptHeaders = map[string]bool{
	"Connection": true, "Content-Length": true, "Keep-Alive": true, "Set-Cookie": true, "Transfer-Encoding": true,
	"X-Request-Id": true,
}

// upstream calls the targets of the route, one after the other while they fail, and returns the first answer that is
// not the provider's own failure, or the last one's.
func (c *call) upstream() (*http.Response, Route, error) {
	var failed error
	for position, route := range c.routes {
		answer, err := c.ask(route)
		if err == nil && (!fails(answer.StatusCode) || position == len(c.routes)-1) {
			return answer, route, nil
		}
		if err == nil {
			_ = answer.Body.Close()
		}
		failed = err
		if c.r.Context().Err() != nil {
			break // the caller has gone
		}
	}
	return nil, Route{}, failed
}

func fails(status int) bool { return status >= 500 || status == http.StatusTooManyRequests }

func (c *call) ask(route Route) (*http.Response, error) {
	provider := c.gateway.config.Providers[route.Provider]
	body := bytes.NewReader(c.bodyFor(route))
	// The caller's context goes along: when the caller goes, so does the call.
	request, err := http.NewRequestWithContext(c.r.Context(), http.MethodPost, provider.URL+c.r.URL.RequestURI(), body)
	if err != nil {
		return nil, err
	}
	for _, name := range forwardedHeaders {
		if values := c.r.Header.Values(name); len(values) > 0 {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if provider.Dialect == "anthropic" {
		request.Header.Set("X-Api-Key", provider.key)
	} else {
		request.Header.Set("Authorization", "Bearer "+provider.key)
	}
	return c.gateway.client.Do(request)
}

// tee hands an answer on while it comes and returns it, up to a little more than mostAnswerBytes. Its error says why it
// ended early: the provider broke off, or the caller has gone.
func (c *call) tee(answer *http.Response) ([]byte, error) {
	for name, values := range answer.Header {
		if !keptHeaders[name] {
			c.w.Header()[name] = values
		}
	}
	c.w.WriteHeader(answer.StatusCode)
	var recorded bytes.Buffer
	flush := http.NewResponseController(c.w).Flush
	piece := make([]byte, 32<<10)
	for {
		n, err := answer.Body.Read(piece)
		if n > 0 {
			if recorded.Len() <= mostAnswerBytes {
				recorded.Write(piece[:n])
			}
			if _, gone := c.w.Write(piece[:n]); gone != nil {
				return recorded.Bytes(), gone
			}
			if c.stream {
				_ = flush()
			}
		}
		switch {
		case err == io.EOF:
			return recorded.Bytes(), c.r.Context().Err()
		case err != nil:
			return recorded.Bytes(), err
		}
	}
}
