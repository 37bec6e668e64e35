package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	askonce "github.com/askonce/askonce/client/go"
)

var modes = map[string]askonce.CacheMode{
	"default": askonce.ModeDefault, "bypass": askonce.ModeBypass, "refresh": askonce.ModeRefresh,
	"read-only": askonce.ModeReadOnly,
}

// asked is what a caller asks of the cache: times in seconds, nil where nothing is said. It is also the shape of the
// top-level `cache` object of a body.
type asked struct {
	Mode      *string `json:"mode"`
	TTL       *uint32 `json:"ttl"`
	Namespace *string `json:"namespace"`
	MaxAge    *uint32 `json:"max_age"`
	MinFresh  *uint32 `json:"min_fresh"`
	MaxStale  *uint32 `json:"max_stale"`
}

// controlsOf reads what a caller asks: in headers and, field by field instead of them, in its `cache` object.
func controlsOf(header http.Header, object json.RawMessage) (askonce.Controls, error) {
	var none askonce.Controls
	wish, err := readHeaders(header)
	if err != nil {
		return none, err
	}
	if len(object) > 0 && string(object) != "null" {
		decoder := json.NewDecoder(bytes.NewReader(object))
		decoder.DisallowUnknownFields()
		if object[0] != '{' || decoder.Decode(&wish) != nil {
			return none, malformed("cache must be an object of mode, ttl, namespace, max_age, min_fresh, max_stale")
		}
	}
	controls := askonce.Controls{
		TTL: seconds(wish.TTL), MinFresh: seconds(wish.MinFresh), MaxStale: seconds(wish.MaxStale),
	}
	if wish.TTL != nil && *wish.TTL == 0 {
		return none, malformed("the ttl must be above 0")
	}
	if wish.Mode != nil {
		mode, ok := modes[*wish.Mode]
		if !ok {
			return none, malformed(fmt.Sprintf("%q is no cache mode: bypass, refresh, read-only or default", *wish.Mode))
		}
		controls.Mode = mode
	}
	if wish.Namespace != nil {
		controls.Namespace = *wish.Namespace
	}
	if wish.MaxAge != nil {
		age := seconds(wish.MaxAge)
		controls.MaxAge = &age
	}
	return controls, nil
}

func seconds(number *uint32) time.Duration {
	if number == nil {
		return 0
	}
	return time.Duration(*number) * time.Second
}

func readHeaders(header http.Header) (asked, error) {
	var wish asked
	if err := wish.readCacheControl(header.Get("Cache-Control")); err != nil {
		return wish, err
	}
	if mode := header.Get("X-Askonce-Cache"); mode != "" {
		wish.Mode = &mode
	}
	if namespace := header.Get("X-Askonce-Cache-Namespace"); namespace != "" {
		wish.Namespace = &namespace
	}
	if ttl := header.Get("X-Askonce-Cache-Ttl"); ttl != "" {
		return wish, number(&wish.TTL, "x-askonce-cache-ttl", ttl)
	}
	return wish, nil
}

// readCacheControl reads the directives of a request (RFC 9111, section 5.2.1). Those that it does not know say
// nothing, as the RFC has it.
func (w *asked) readCacheControl(value string) error {
	noStore, noCache := false, false
	for directive := range strings.SplitSeq(strings.ToLower(value), ",") {
		name, argument, _ := strings.Cut(strings.TrimSpace(directive), "=")
		var err error
		switch name {
		case "no-store":
			noStore = true
		case "no-cache":
			noCache = true
		case "max-age":
			err = number(&w.MaxAge, name, argument)
		case "min-fresh":
			err = number(&w.MinFresh, name, argument)
		case "max-stale":
			if argument != "" { // without one it means any: as far as the rule goes, which is the rule's to say
				err = number(&w.MaxStale, name, argument)
			}
		}
		if err != nil {
			return err
		}
	}
	mode := map[[2]bool]string{{true, true}: "bypass", {true, false}: "read-only", {false, true}: "refresh"}
	if said, ok := mode[[2]bool{noStore, noCache}]; ok {
		w.Mode = &said
	}
	return nil
}

func number(into **uint32, name, text string) error {
	parsed, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 32)
	if err != nil {
		return malformed(name + " must be a whole number of seconds")
	}
	value := uint32(parsed)
	*into = &value
	return nil
}
