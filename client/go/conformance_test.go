package askonce_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	askonce "github.com/askonce/askonce/client/go"
	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
	"github.com/askonce/askonce/client/go/internal/sidecar"
)

const vectorsFolder = "../../tests/conformance"

// vector is one case of tests/conformance; its README says what each part means.
type vector struct {
	Name  string
	Given struct {
		Descriptor  json.RawMessage
		Namespace   string
		Generations []string
		Semantic    json.RawMessage
	}
	Want struct {
		Bypass     string
		Invalid    []string
		Anchor     string
		Exact      *keys
		Normalized *keys
	}
}

type keys struct {
	EntryID string `json:"entry_id"`
	Skipped string
}

func vectors(t *testing.T) []vector {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(vectorsFolder, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Skipf("no vectors in %s: this is not the whole repository", vectorsFolder)
	}
	var all []vector
	for _, path := range paths {
		if name := filepath.Base(path); name == "rules.json" || name == "streams.json" {
			continue
		}
		var file struct{ Cases []vector }
		read(t, path, &file)
		all = append(all, file.Cases...)
	}
	return all
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %s", path, err)
	}
}

// descriptorOf builds a descriptor with the types of this package from proto3 JSON.
func descriptorOf(t *testing.T, raw []byte) askonce.Descriptor {
	t.Helper()
	message := &pb.RequestDescriptor{}
	if err := protojson.Unmarshal(raw, message); err != nil {
		t.Fatal(err)
	}
	target := func(m *pb.Target) askonce.Target {
		return askonce.Target{Provider: m.GetProvider(), Model: m.GetModel()}
	}
	d := askonce.Descriptor{
		Dialect: message.GetDialect(), Endpoint: message.GetEndpoint(), Served: target(message.GetServed()),
		Requested: target(message.GetRequested()), RouteID: message.GetRouteId(),
		RouteVersion: message.GetRouteVersion(), RuleBranch: message.GetRuleBranch(), Stream: message.Stream,
		Scope: message.GetScope(), Versions: message.GetVersions(), Headers: message.GetHeaders(),
		Personalized: message.GetPersonalized(), Attributes: message.GetAttributes(),
	}
	switch content := message.GetContent().(type) {
	case *pb.RequestDescriptor_BodyJson:
		d.Content = askonce.ProviderBody(content.BodyJson)
	case *pb.RequestDescriptor_Parts:
		parts := content.Parts
		d.Content = askonce.Parts{
			Messages: parts.GetMessages(), System: parts.GetSystem(), Tools: parts.GetTools(), Params: parts.GetParams(),
		}
	case *pb.RequestDescriptor_Digests:
		digests, facts := content.Digests, content.Digests.GetFacts()
		d.Content = askonce.Digests{
			ExactSHA256: digests.GetExactSha256(), NormalizedSHA256: digests.GetNormalizedSha256(),
			Canonicalization:        digests.GetCanonicalization(),
			CanonicalizationVersion: digests.GetCanonicalizationVersion(),
		}
		if facts != nil {
			d.Content = withFacts(d.Content.(askonce.Digests), facts)
		}
	}
	if embedding := message.GetEmbedding(); embedding != nil {
		d.Embedding = &askonce.Embedding{Embedder: embedding.GetEmbedder()}
		for raw := embedding.GetValues(); len(raw) >= 4; raw = raw[4:] {
			value := math.Float32frombits(binary.LittleEndian.Uint32(raw))
			d.Embedding.Values = append(d.Embedding.Values, value)
		}
	}
	return d
}

func withFacts(digests askonce.Digests, facts *pb.DigestFacts) askonce.Digests {
	digests.Facts = askonce.DigestFacts{
		Sampling: facts.Sampling, RemoteContent: facts.RemoteContent,
		Stateful: facts.Stateful, Personalized: facts.Personalized,
	}
	return digests
}

func TestTheSidecarDerivesTheSameIdsForThisClient(t *testing.T) {
	all := vectors(t)
	var rules struct{ Rules []any }
	read(t, filepath.Join(vectorsFolder, "rules.json"), &rules)
	server := sidecar.Start(t, rules.Rules)
	client, err := askonce.New(server.Target, quiet, askonce.WithBudget(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	replayed := 0
	for _, v := range all {
		if v.Given.Generations != nil || v.Given.Semantic != nil {
			continue
		}
		replayed++
		t.Run(v.Name, func(t *testing.T) { replay(t, client, v) })
	}
	if replayed < 300 {
		t.Errorf("only %d vectors were replayed", replayed)
	}
}

func replay(t *testing.T, client *askonce.Client, v vector) {
	descriptor := descriptorOf(t, v.Given.Descriptor)
	options := []askonce.LookupOption{askonce.WithControls(askonce.Controls{Namespace: v.Given.Namespace})}
	if v.Want.Anchor != "" {
		options = append(options, askonce.WithAnchor())
	}
	if v.Want.Exact != nil || v.Want.Normalized != nil {
		storeAndFind(t, client, v, descriptor, options)
		return
	}
	decision := look(t, client, descriptor, options...)
	if reason := strings.ToUpper(decision.BypassReason.String()); v.Want.Bypass != "" && reason != v.Want.Bypass {
		t.Errorf("bypass %s, not %s", reason, v.Want.Bypass)
	}
	if decision.ConversationAnchor != v.Want.Anchor {
		t.Errorf("anchor %s, not %s", decision.ConversationAnchor, v.Want.Anchor)
	}
	if v.Want.Invalid != nil {
		var failed *askonce.Error
		var fields []string
		if errors.As(decision.Err, &failed) {
			for _, violation := range failed.Violations {
				fields = append(fields, violation.Field)
			}
		}
		if !errors.Is(decision.Err, askonce.ErrInvalidRequest) || !slices.Equal(fields, v.Want.Invalid) {
			t.Errorf("%v, not %v: %v", fields, v.Want.Invalid, decision.Err)
		}
	}
}

// storeAndFind stores an answer, finds the ids that the vector wants, and looks the first of them up.
func storeAndFind(
	t *testing.T, client *askonce.Client, v vector, d askonce.Descriptor, options []askonce.LookupOption,
) {
	stored, err := client.Store(context.Background(), d, answerTo(d), askonce.WithNamespace(v.Given.Namespace))
	if err != nil || !stored.Stored() {
		t.Fatalf("%+v %v", stored, err)
	}
	entries := map[askonce.MatchKind]askonce.EntryID{}
	for _, entry := range stored.Entries {
		entries[entry.Kind] = entry.EntryID
	}
	decision := look(t, client, d, options...)
	skipped := map[askonce.MatchKind]string{}
	for _, skip := range decision.Skipped {
		skipped[skip.Matcher] = strings.ToUpper(skip.Reason.String())
	}
	found := false
	for _, matcher := range []struct {
		kind askonce.MatchKind
		want *keys
	}{{askonce.MatchExact, v.Want.Exact}, {askonce.MatchNormalized, v.Want.Normalized}} {
		if matcher.want == nil {
			continue
		}
		if string(entries[matcher.kind]) != matcher.want.EntryID {
			t.Errorf("%s: entry %q, not %q", matcher.kind, entries[matcher.kind], matcher.want.EntryID)
		}
		if !found && skipped[matcher.kind] != matcher.want.Skipped {
			t.Errorf("%s: skipped %q, not %q", matcher.kind, skipped[matcher.kind], matcher.want.Skipped)
		}
		if !found && matcher.want.EntryID != "" {
			found = true
			if !decision.Hit() || string(decision.Candidate.EntryID) != matcher.want.EntryID {
				t.Errorf("%s: found %+v", matcher.kind, decision)
			}
		}
	}
}

// answerTo returns a whole answer of the descriptor's endpoint.
func answerTo(d askonce.Descriptor) askonce.UpstreamResponse {
	streamed := d.Stream != nil && *d.Stream
	if body, ok := d.Content.(askonce.ProviderBody); ok {
		var said struct{ Stream bool }
		_ = json.Unmarshal(body, &said)
		streamed = said.Stream
	}
	if parts, ok := d.Content.(askonce.Parts); ok && d.Stream == nil {
		var said struct{ Stream bool }
		_ = json.Unmarshal(parts.Params, &said)
		streamed = said.Stream
	}
	response := askonce.UpstreamResponse{
		Body:        []byte(`{"answer":"` + base64.StdEncoding.EncodeToString([]byte("Paris.")) + `"}`),
		ContentType: "application/json", StatusCode: 200, FinishReasons: []string{"stop"},
	}
	if d.Dialect == "anthropic" {
		response.FinishReasons = []string{"end_turn"}
	}
	if d.Endpoint == "responses" {
		response.FinishReasons = []string{"completed"}
	}
	if streamed {
		response.Body, response.ContentType = []byte("data: {\"answer\":1}\n\n"), "text/event-stream"
		response.StreamComplete = true
	}
	return response
}
