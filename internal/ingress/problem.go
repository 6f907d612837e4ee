// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	problems "github.com/hostedbridge/hostedbridge/internal/problem"
)

// problem is an error that the caller may see. Its code is part of the API
// and never changes its meaning; its detail is for people.
type problem struct {
	status int
	code   string
	detail string
	// retryAfter is how long to wait before the next try, 0 when waiting does
	// not help.
	retryAfter time.Duration
}

// Error implements error.
func (p *problem) Error() string { return p.code }

// retrySoon is what the 503 answers advise: about the time in which a pod of
// ours starts.
const retrySoon = 5 * time.Second

// problemTimeout is how long a refusal may take to be read: it fits into one
// packet.
const problemTimeout = 10 * time.Second

// The problems. One that several causes share stands here once, so that the
// answers cannot differ: an unknown key and an expired one, an unknown user
// and somebody else's.
var (
	errUnauthorized     = &problem{http.StatusUnauthorized, "unauthorized", "Send a valid API key as Authorization: Bearer <key> or as X-API-Key.", 0}
	errTooManyAttempts  = &problem{http.StatusTooManyRequests, "too_many_attempts", "There were too many requests with keys that open nothing. A valid key is never refused for that.", time.Second}
	errAdminDisabled    = &problem{http.StatusServiceUnavailable, "admin_disabled", "This installation has no admin key, so that nobody can administer it here.", 0}
	errOriginNotAllowed = &problem{http.StatusForbidden, "origin_not_allowed", "Requests from this Origin are not allowed.", 0}
	errHostNotAllowed   = &problem{http.StatusForbidden, "host_not_allowed", "This service is not known under this Host.", 0}
	errNotFound         = &problem{http.StatusNotFound, "not_found", "There is nothing here for this caller.", 0}
	errMethodNotAllowed = &problem{http.StatusMethodNotAllowed, "method_not_allowed", "The Allow header names the methods of this resource.", 0}
	errHops             = &problem{http.StatusBadRequest, "hops_invalid", "The header Hosted-Bridge-Hops names at most 8 bridges, by 16 hexadecimal digits each; whatever else it holds hides a loop.", 0}
	errSessionInvalid   = &problem{http.StatusBadRequest, "session_invalid", "The query is not the one of the endpoint that GET has told.", 0}
	errRepeatedHeader   = &problem{http.StatusBadRequest, "repeated_header", "A header that can have one value was sent more than once.", 0}
	errBodyUnreadable   = &problem{http.StatusBadRequest, "body_unreadable", "The request body broke off or came too slowly.", 0}
	errNotOneMessage    = &problem{http.StatusBadRequest, "message_invalid", "Send exactly one JSON value, in which each member of a message stands once and is spelled as the protocol has it.", 0}
	errBodyTooLarge     = &problem{http.StatusRequestEntityTooLarge, "body_too_large", "The body of a request is too large.", 0}
	errBatchTooLarge    = &problem{http.StatusRequestEntityTooLarge, "batch_too_large", "The batch has more requests than the tier allows in a minute; send it in parts.", 0}
	errBodyNotAllowed   = &problem{http.StatusBadRequest, "body_not_allowed", "A request of this method has no body at this path.", 0}
	errFormType         = &problem{http.StatusUnsupportedMediaType, "unsupported_media_type", "Send Content-Type: application/x-www-form-urlencoded.", 0}
	errMediaType        = &problem{http.StatusUnsupportedMediaType, "unsupported_media_type", "Send Content-Type: application/json.", 0}
	errInsufficient     = &problem{http.StatusForbidden, "insufficient_scope", "The access token does not allow this; WWW-Authenticate names the scopes that do.", 0}
	errKeyNeeded        = &problem{http.StatusForbidden, "key_needed", "Secrets are managed with an API key; an access token is for MCP alone.", 0}
	errSeveralBridges   = &problem{http.StatusForbidden, "several_bridges", "This login opens several bridges. Use the URL of one of them, which ends with /u/<user>/mcp.", 0}
	errLoginAway        = &problem{http.StatusServiceUnavailable, "login_unavailable", "Access tokens cannot be checked at the moment: the keys of their issuer are not known. API keys work.", retrySoon}
	errInternal         = &problem{http.StatusInternalServerError, "internal", "Internal error.", 0}
	errBridgeFailed     = &problem{http.StatusBadGateway, "bridge_failed", "The bridge broke the connection before it answered; the call may have run.", 0}
	errNotReady         = &problem{http.StatusServiceUnavailable, "not_ready", "This replica is starting.", retrySoon}
	errEnding           = &problem{http.StatusServiceUnavailable, "ingress_ending", "This replica of the ingress ended before the call did; the call may have run.", retrySoon}
	errSuspended        = &problem{http.StatusServiceUnavailable, "bridge_suspended", "The bridge is suspended.", 0}
	errStarting         = &problem{http.StatusServiceUnavailable, "bridge_starting", "The bridge is starting.", retrySoon}
	errAsleep           = &problem{http.StatusServiceUnavailable, "bridge_asleep", "The bridge sleeps, and could not be woken in time.", retrySoon}
	errUnreachable      = &problem{http.StatusServiceUnavailable, "bridge_unreachable", "The bridge could not be reached; the call did not run.", retrySoon}
	errAuditAway        = &problem{http.StatusServiceUnavailable, "audit_unavailable", "No audit entry can be written at the moment, and without one there is no answer; a call that was under way may have run.", retrySoon}
	errBusy             = &problem{http.StatusServiceUnavailable, "busy", "Too many large calls are in flight.", retrySoon}
	errTooManyHeld      = &problem{http.StatusServiceUnavailable, "too_many_waiting", "Too many requests already wait for the bridge to start.", retrySoon}

	errPartQuery    = &problem{http.StatusBadRequest, "query_invalid", "This route takes no query, or not one of this form: name=value, joined with &, in percent encoding.", 0}
	errTooManyReads = &problem{http.StatusTooManyRequests, "too_many_requests", "There were too many requests of the catalog from this address.", time.Second}

	errTooManyLogins = &problem{http.StatusTooManyRequests, "too_many_requests", "There were too many requests for logins from this address.", time.Second}

	errTooManyWrites = &problem{http.StatusTooManyRequests, "too_many_requests", "There were too many requests with keys of this publisher.", time.Second}

	errKeyRequest         = &problem{http.StatusUnprocessableEntity, "key_request_invalid", `Send {"name": "laptop", "expires": "90d"}; both may be left out.`, 0}
	errKeyRequestTooLarge = &problem{http.StatusRequestEntityTooLarge, "body_too_large", "A request for a key is limited to 4 KiB.", 0}
	errKeyNotFound        = &problem{http.StatusNotFound, "key_not_found", "The user has no key of this id.", 0}
	errKeyManaged         = &problem{http.StatusConflict, "key_managed", "The key was not added as one of its own; remove it from spec.apiKeys.", 0}
	errKeyLimit           = &problem{http.StatusConflict, "key_limit_reached", "The user has as many keys as a HostedBridge takes; revoke one first.", 0}
	errAuditQuery         = &problem{http.StatusBadRequest, "query_invalid", "The query is not one for audit entries.", 0}
	errAuditIndexDisabled = &problem{http.StatusServiceUnavailable, "audit_index_disabled", "This installation keeps no index of its audit trail; --audit-index names one.", 0}
	errAuditIndexAway     = &problem{http.StatusServiceUnavailable, "audit_index_unavailable", "The index of the audit trail does not answer. The trail itself is not affected.", retrySoon}
	errAnalyticsQuery     = &problem{http.StatusBadRequest, "query_invalid", "The query is not one for analytics.", 0}
	errAnalyticsSlow      = &problem{http.StatusServiceUnavailable, "analytics_too_slow", "The calls of this time could not be counted within 30 seconds. Ask for a shorter time, or one question after the other.", retrySoon}
	errInventoryUnknown   = &problem{http.StatusServiceUnavailable, "cluster_unavailable", "The API server has not told this replica yet what there is.", retrySoon}
	errKeysAway           = &problem{http.StatusServiceUnavailable, "cluster_unavailable", "The API server did not answer or refused. A change may have been made or not; GET shows which.", retrySoon}
	errActNotAudited      = &problem{http.StatusServiceUnavailable, "audit_unavailable", "The act was done or may have been, and could not be written to the audit trail.", retrySoon}

	errSecretEmpty    = &problem{http.StatusBadRequest, "secret_empty", "A secret cannot be empty. DELETE removes it.", 0}
	errSecretNotFound = &problem{http.StatusNotFound, "secret_not_found", "No secret of this name is set.", 0}
	errSecretManaged  = &problem{http.StatusConflict, "secret_managed", "This secret comes from a Secret that spec.secretRefs names; change it there.", 0}
	errSecretLimit    = &problem{http.StatusConflict, "secret_limit_reached", "The tier allows no further secret.", 0}
	errTierUnknown    = &problem{http.StatusConflict, "tier_unknown", "The HostedBridge's tier is none of this installation's.", 0}
	errSecretsLost    = &problem{http.StatusConflict, "secrets_lost", "What was set cannot be opened any more. Unless an administrator restores it, remove each secret and set it anew.", 0}
	errSecretTooLarge = &problem{http.StatusRequestEntityTooLarge, "body_too_large", "A secret is limited to 64 KiB.", 0}
	errSecretsFull    = &problem{http.StatusRequestEntityTooLarge, "secrets_too_large", "The user's secrets together would be larger than can be stored.", 0}
	errSecretsDamaged = &problem{http.StatusInternalServerError, "secrets_damaged", "What is stored of the user's secrets cannot be used; an administrator has to see to it.", 0}
	errSecretsBusy    = &problem{http.StatusServiceUnavailable, "secrets_unavailable", "Secrets can be neither read nor changed at the moment; nothing was changed.", retrySoon}
	errSecretsAway    = &problem{http.StatusServiceUnavailable, "secrets_unavailable", "The keybroker did not answer. A change may have been made or not; it can be sent again.", retrySoon}
)

// secretsProblems are what the caller sees of the keybroker's refusals, by
// code. With its own words are those that say what nobody here knows: which
// Secret it is, and which limit.
var secretsProblems = map[string]struct {
	*problem
	ownWords bool
}{
	"bridge_not_found":       {errNotFound, false}, // Deleted, and the table does not have it yet.
	"bridge_not_prepared":    {errSecretsBusy, false},
	"body_too_large":         {errSecretTooLarge, false},
	"body_unreadable":        {errSecretsBusy, false}, // Ours, to the keybroker.
	"busy":                   {errSecretsBusy, false},
	"cluster_unavailable":    {errSecretsAway, false}, // Of a write it may be the answer that did not come.
	"conflict":               {errSecretsBusy, false},
	"master_key_unavailable": {errSecretsAway, false},
	"salt_invalid":           {errSecretsDamaged, false},
	"salt_missing":           {errSecretsLost, false},
	"secret_limit_reached":   {errSecretLimit, true},
	"secret_managed":         {errSecretManaged, true},
	"secret_not_found":       {errSecretNotFound, false},
	"secret_not_owned":       {errSecretsDamaged, false},
	"secret_unreadable":      {errSecretsDamaged, false},
	"secrets_too_large":      {errSecretsFull, false},
	"tier_unknown":           {errTierUnknown, true},
}

// secretsProblem returns err of the keybroker as the caller may know it. Codes
// that are the ingress's own fault, such as that of a name that it should not
// have let in, stay internal errors.
func secretsProblem(err error) error {
	refusal, ok := errors.AsType[*client.Refusal](err)
	if !ok {
		return fmt.Errorf("%w: %w", errSecretsAway, err)
	}
	known, ok := secretsProblems[refusal.Code]
	p := known.problem
	switch {
	case ok && known.ownWords:
		p = p.saying(refusal.Detail)
	case !ok && (refusal.Status == http.StatusServiceUnavailable || refusal.Status == http.StatusTooManyRequests):
		p = errSecretsAway
	case !ok:
		p = errInternal
	}
	return fmt.Errorf("%w: %w", p, err)
}

// saying returns p with another detail, unless that is empty.
func (p *problem) saying(detail string) *problem {
	said := *p
	said.detail = cmp.Or(detail, p.detail)
	return &said
}

// publicProblem returns what the caller may know of err. Anything that nobody
// made public is an internal error.
func publicProblem(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if p, ok := errors.AsType[*problems.Problem](err); ok {
		return &problem{p.Status, p.Code, p.Detail, p.RetryAfter}
	}
	return errInternal
}

// canceled reports whether err says that the caller went away.
func canceled(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// writeProblem answers r with err: the only place where an error becomes a
// status. body is what has been read of the request's body, for the id.
func writeProblem(w http.ResponseWriter, r *http.Request, err error, body []byte) {
	p := publicProblem(err)
	recordOf(r.Context()).fail(p, err)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	p.public().SetHeader(h, "hosted-bridge")
	if p.status == http.StatusNotFound {
		// What is not there has no quota, and looks like what is not the caller's.
		h.Del("RateLimit")
		h.Del("RateLimit-Policy")
	}
	var limit *limitData
	if e, ok := errors.AsType[*exceeded](err); ok {
		limit = &e.data
	}
	contentType, answer := p.encode(limit)
	if listed, ok := errors.AsType[*problems.Problem](err); ok && listed.Code == p.code {
		answer = listed.Encode(nil) // With all that is wrong.
	}
	if isRPC(r) {
		contentType, answer = p.encodeRPC(rpcID(body), limit)
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	// Nobody who is refused may keep us by not reading why.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(problemTimeout))
	w.WriteHeader(p.status)
	// Whoever hung up does not read the error either.
	_, _ = w.Write(answer) //nolint:gosec // It is JSON, and is never shown as a page.
}

// public returns the problem as it is answered.
func (p *problem) public() *problems.Problem {
	return &problems.Problem{Status: p.status, Code: p.code, Detail: p.detail, RetryAfter: p.retryAfter}
}

// encode returns the problem as RFC 9457 has it, and where it is one of a limit,
// with what can be done about it.
func (p *problem) encode(limit *limitData) (contentType string, body []byte) {
	return problems.ContentType, p.public().Encode(limit)
}

// JSON-RPC error codes. rpcRefused is one that the protocol leaves to
// implementations and that MCP does not use.
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
	rpcInternal       = -32603
	rpcRefused        = -32050
)

// encodeRPC returns the problem as a JSON-RPC error. Without an id the member
// is left out: null would be the answer to a request whose id is null.
func (p *problem) encodeRPC(id json.RawMessage, limit *limitData) (contentType string, body []byte) {
	type data struct {
		Code              string `json:"code"`
		RetryAfterSeconds int    `json:"retryAfterSeconds,omitempty"`
		*limitData
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    data   `json:"data"`
	}
	code := rpcRefused
	switch {
	case p == errNotOneMessage:
		code = rpcParseError
	case p.status == http.StatusBadRequest || p.status == http.StatusRequestEntityTooLarge || p.status == http.StatusUnsupportedMediaType:
		code = rpcInvalidRequest
	case p.status == http.StatusInternalServerError || p.status == http.StatusBadGateway:
		code = rpcInternal
	}
	return "application/json", mustMarshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   rpcError        `json:"error"`
	}{"2.0", id, rpcError{code, p.detail, data{p.code, int(p.retryAfter.Seconds()), limit}}})
}

// mustMarshal encodes values whose types cannot fail to encode.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
