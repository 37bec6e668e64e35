package askoncetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// answer answers one call: by script first, and else as a tiny cache keyed on canonical JSON.
func (s *sidecar) answer(method string, raw []byte) (proto.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path.Base(method) == "GetServerInfo" { // a client asks it by itself, so it takes no part in a script
		return s.info(), nil
	}
	s.calls = append(s.calls, path.Base(method))
	if len(s.failures) > 0 {
		failure := s.failures[0]
		s.failures = s.failures[1:]
		return nil, failure
	}
	switch path.Base(method) {
	case "Lookup":
		request := &pb.LookupRequest{}
		err := proto.Unmarshal(raw, request)
		return &pb.LookupResponse{Decision: s.decide(request)}, err
	case "BatchLookup":
		request := &pb.BatchLookupRequest{}
		err := proto.Unmarshal(raw, request)
		s.batches = append(s.batches, Batch{Items: len(request.GetItems()), Bytes: len(raw)})
		return s.decideAll(request), err
	case "Store":
		request := &pb.StoreRequest{}
		err := proto.Unmarshal(raw, request)
		return s.file(request), err
	case "BatchStore":
		request, response := &pb.BatchStoreRequest{}, &pb.BatchStoreResponse{}
		err := proto.Unmarshal(raw, request)
		for _, item := range request.GetItems() {
			result := &pb.BatchStoreResult_Response{Response: s.file(item)}
			response.Results = append(response.Results, &pb.BatchStoreResult{Result: result})
		}
		return response, err
	case "Abandon":
		request := &pb.AbandonRequest{}
		err := proto.Unmarshal(raw, request)
		s.abandons = append(s.abandons, request)
		return &pb.AbandonResponse{Released: true}, err
	case "RecordFeedback":
		return &pb.RecordFeedbackResponse{Recorded: true}, nil
	}
	return nil, status.Error(codes.Unimplemented, "the imagined sidecar does not have this method")
}

func (s *sidecar) info() *pb.GetServerInfoResponse {
	info := &pb.GetServerInfoResponse{Version: "0.0.0", KeySchema: "askonce/1", StoreServing: true}
	for _, rule := range s.rules {
		summary := &pb.RuleSummary{Id: rule.ID, Mode: rule.Mode, Scope: rule.Scope, Ttl: durationpb.New(rule.TTL)}
		for _, matcher := range rule.Strategy {
			summary.Strategy = append(summary.Strategy, pb.MatchKind(matcher))
		}
		info.Rules = append(info.Rules, summary)
	}
	return info
}

// decideAll decides a batch. As in the sidecar, a twin of an earlier item carries neither body nor token.
func (s *sidecar) decideAll(request *pb.BatchLookupRequest) *pb.BatchLookupResponse {
	response := &pb.BatchLookupResponse{}
	firsts := map[string]int{}
	for index, item := range request.GetItems() {
		decision := s.decide(item)
		key, known := keyOf(item.GetDescriptor_(), item.GetControls().GetNamespace())
		if first, twin := firsts[key]; known && twin {
			same := uint32(first)
			decision.SameAs, decision.StoreAnswer, decision.FillToken = &same, false, nil
			if decision.GetCandidate() != nil {
				decision.Candidate.Body = nil
			}
		} else if known {
			firsts[key] = index
		}
		result := &pb.BatchLookupResult_Decision{Decision: decision}
		response.Results = append(response.Results, &pb.BatchLookupResult{Result: result})
	}
	return response
}

func (s *sidecar) decide(request *pb.LookupRequest) *pb.Decision {
	s.lookups = append(s.lookups, request)
	key, known := keyOf(request.GetDescriptor_(), request.GetControls().GetNamespace())
	var decision *pb.Decision
	if len(s.decisions) > 0 {
		decision = s.decisions[0]
		s.decisions = s.decisions[1:]
	} else {
		decision = s.lookUp(request, key, known)
	}
	if decision.DecisionId == "" {
		decision.DecisionId = fmt.Sprintf("%032x", len(s.lookups))
	}
	if decision.RuleId == "" {
		decision.RuleId = "default"
	}
	controls := request.GetControls()
	writes := controls.GetMode() != pb.CacheMode_CACHE_MODE_READ_ONLY && !controls.GetLoggingDisabled()
	switch decision.GetOutcome() {
	case pb.Outcome_OUTCOME_HIT:
		if request.GetOmitBody() && decision.GetCandidate() != nil {
			decision.Candidate.Body = nil
		}
	case pb.Outcome_OUTCOME_MISS:
		if known && writes {
			token := fmt.Sprintf("fill-%d", len(s.tokens))
			s.tokens[token] = key
			decision.StoreAnswer, decision.FillToken = true, []byte(token)
		}
	}
	return decision
}

func (s *sidecar) lookUp(request *pb.LookupRequest, key string, known bool) *pb.Decision {
	mode := request.GetControls().GetMode()
	switch {
	case mode == pb.CacheMode_CACHE_MODE_BYPASS:
		return bypass(pb.BypassReason_BYPASS_REASON_CALLER_BYPASS)
	case request.GetDescriptor_().GetScope()["tenant"] == "":
		return bypass(pb.BypassReason_BYPASS_REASON_SCOPE_MISSING)
	case !known:
		return bypass(pb.BypassReason_BYPASS_REASON_UNREPRESENTABLE_CONTENT)
	case mode == pb.CacheMode_CACHE_MODE_REFRESH:
		reason := pb.DenyReason_DENY_REASON_REFRESH
		return &pb.Decision{
			Outcome: pb.Outcome_OUTCOME_MISS, DenyReason: reason, CacheStatus: "askonce; fwd=request",
		}
	}
	found, ok := s.entries[key]
	if !ok {
		return &pb.Decision{Outcome: pb.Outcome_OUTCOME_MISS, CacheStatus: "askonce; fwd=miss"}
	}
	id := entryID(key)
	return &pb.Decision{
		Outcome:       pb.Outcome_OUTCOME_HIT,
		Kind:          pb.MatchKind_MATCH_KIND_EXACT,
		CacheStatus:   "askonce; hit",
		FeedbackToken: []byte("feedback-" + id),
		Candidate: &pb.Candidate{
			EntryId:           id,
			EntrySha7:         id[:7],
			SourceRequestId:   found.GetSourceRequestId(),
			ContainsToolCalls: found.GetContainsToolCalls(),
			Usage:             found.GetUsage(),
			Body:              &pb.Body{Data: found.GetBody(), ContentType: found.GetContentType()},
		},
	}
}

func (s *sidecar) file(request *pb.StoreRequest) *pb.StoreResponse {
	s.stores = append(s.stores, request)
	key, known := s.tokens[string(request.GetFillToken())]
	if descriptor := request.GetDescriptor_(); descriptor != nil {
		key, known = keyOf(descriptor, request.GetNamespace())
	}
	refusal := refusalOf(request, known)
	if len(s.refusals) > 0 {
		refusal = s.refusals[0]
		s.refusals = s.refusals[1:]
	}
	if refusal != 0 {
		refused := pb.StoreOutcome_STORE_OUTCOME_REFUSED
		return &pb.StoreResponse{Outcome: refused, RefusalReason: refusal}
	}
	s.entries[key] = request.GetResponse()
	entry := &pb.StoredEntry{Kind: pb.MatchKind_MATCH_KIND_EXACT, EntryId: entryID(key)}
	stored := pb.StoreOutcome_STORE_OUTCOME_STORED
	return &pb.StoreResponse{Outcome: stored, Entries: []*pb.StoredEntry{entry}}
}

func refusalOf(request *pb.StoreRequest, known bool) pb.RefusalReason {
	response := request.GetResponse()
	switch {
	case !known && request.GetDescriptor_() != nil:
		return pb.RefusalReason_REFUSAL_REASON_UNREPRESENTABLE_CONTENT
	case !known:
		return pb.RefusalReason_REFUSAL_REASON_TOKEN_EXPIRED
	case request.GetLoggingDisabled():
		return pb.RefusalReason_REFUSAL_REASON_LOGGING_DISABLED
	case response.GetStatusCode() < 200 || response.GetStatusCode() > 299:
		return pb.RefusalReason_REFUSAL_REASON_UPSTREAM_ERROR
	case len(response.GetBody()) == 0:
		return pb.RefusalReason_REFUSAL_REASON_EMPTY
	case response.Cacheable != nil && !response.GetCacheable():
		return pb.RefusalReason_REFUSAL_REASON_NOT_CACHEABLE
	}
	return 0
}

func bypass(reason pb.BypassReason) *pb.Decision {
	return &pb.Decision{
		Outcome: pb.Outcome_OUTCOME_BYPASS, BypassReason: reason, CacheStatus: "askonce; fwd=bypass",
	}
}

func entryID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// keyOf returns everything that the answer depends on as sorted JSON; false when it is not JSON.
func keyOf(descriptor *pb.RequestDescriptor, namespace string) (string, bool) {
	var content []any
	for _, raw := range [][]byte{
		descriptor.GetBodyJson(), descriptor.GetParts().GetMessages(), descriptor.GetParts().GetSystem(),
		descriptor.GetParts().GetTools(), descriptor.GetParts().GetParams(),
	} {
		if len(raw) == 0 {
			content = append(content, nil)
			continue
		}
		var tree any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if decoder.Decode(&tree) != nil || decoder.More() {
			return "", false
		}
		content = append(content, tree)
	}
	key, err := json.Marshal([]any{
		descriptor.GetDialect(), descriptor.GetEndpoint(), namespace, content,
		descriptor.GetServed().GetProvider(), descriptor.GetServed().GetModel(),
		descriptor.GetRequested().GetProvider(), descriptor.GetRequested().GetModel(),
		descriptor.GetRouteId(), descriptor.GetRouteVersion(), descriptor.GetRuleBranch(),
		descriptor.Stream, descriptor.GetScope(), descriptor.GetVersions(), descriptor.GetHeaders(),
		descriptor.GetDigests().GetExactSha256(),
	})
	return string(key), err == nil
}
