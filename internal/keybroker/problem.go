// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
	problems "github.com/hostedbridge/hostedbridge/internal/problem"
)

// problem is an error that the caller may see. Its code is part of the API and
// never changes its meaning; what is behind it is only logged. A cause is
// added by wrapping: fmt.Errorf("%w: pod gone", errPod).
type problem struct {
	status     int
	code       string
	detail     string
	retryAfter time.Duration
}

// Error implements error.
func (p *problem) Error() string { return p.code }

// Is makes a problem with a detail of its own equal to the one that it is.
func (p *problem) Is(target error) bool {
	other, ok := target.(*problem)
	return ok && p.code == other.code
}

// withDetail returns the problem with a sentence about this occurrence.
func (p *problem) withDetail(detail string) *problem {
	q := *p
	q.detail = detail
	return &q
}

// The problems.
var (
	errTokenMissing       = &problem{http.StatusUnauthorized, "token_missing", "Send the pod's projected token as Authorization: Bearer <token>.", 0}
	errTokenRefused       = &problem{http.StatusUnauthorized, "token_refused", "The token is not a current token of a pod for this audience.", 0}
	errPod                = &problem{http.StatusForbidden, "pod_not_current", "The token's pod does not exist, has ended, or is not the one of the token.", 0}
	errServiceAccount     = &problem{http.StatusForbidden, "service_account_not_current", "The token's service account is not the one of the token.", 0}
	errNotABridge         = &problem{http.StatusForbidden, "not_a_bridge", "The token's service account or its pod belongs to no HostedBridge.", 0}
	errBridge             = &problem{http.StatusForbidden, "bridge_not_current", "The HostedBridge of the token's pod does not exist any more.", 0}
	errCaller             = &problem{http.StatusForbidden, "caller_not_allowed", "This caller may not do this.", 0}
	errCertificateMissing = &problem{http.StatusForbidden, "certificate_missing", "Show the certificate that POST /v1/certificates gives.", 0}
	errRequest            = &problem{http.StatusBadRequest, "certificate_request_invalid", "The body is not a PKCS #10 request of an Ed25519 key, in DER.", 0}
	errClaims             = &problem{http.StatusBadRequest, "claims_invalid", "The body is not the claims of an access token.", 0}
	errBodyUnreadable     = &problem{http.StatusBadRequest, "body_unreadable", "The request body broke off or came too slowly.", 0}
	errName               = &problem{http.StatusBadRequest, "name_invalid", "A namespace, HostedBridge or secret cannot have this name. A secret's is 1 to 64 upper-case letters, digits or underscores beginning with a letter, such as GITHUB_TOKEN, or a file's name with a dot in it, such as credentials.json.", 0}
	errNotFound           = &problem{http.StatusNotFound, "not_found", "There is nothing here.", 0}
	errBridgeNotFound     = &problem{http.StatusNotFound, "bridge_not_found", "There is no such HostedBridge.", 0}
	errSecretNotFound     = &problem{http.StatusNotFound, "secret_not_found", "There is no secret of this name.", 0}
	errMethod             = &problem{http.StatusMethodNotAllowed, "method_not_allowed", "The Allow header names the methods of this resource.", 0}
	errNotOwned           = &problem{http.StatusConflict, "secret_not_owned", "A Secret of that name belongs to something else than this HostedBridge.", 0}
	errNotLogin           = &problem{http.StatusForbidden, "secret_not_writable", "A bridge may set only what a server of its own names as auth.oauth.tokenSecret.", 0}
	errEmpty              = &problem{http.StatusBadRequest, "secret_empty", "The tokens of a login cannot be empty.", 0}
	errRevision           = &problem{http.StatusPreconditionFailed, "revision_changed", "The secrets are others than those of the revision in If-Match; ask for them.", 0}
	errManaged            = &problem{http.StatusConflict, "secret_managed", "This secret comes from spec.secretRefs; change it there.", 0}
	errSecretLimit        = &problem{http.StatusConflict, "secret_limit_reached", "The tier allows no more secrets.", 0}
	errTierUnknown        = &problem{http.StatusConflict, "tier_unknown", "The HostedBridge's tier is none of this installation's.", 0}
	errSaltMissing        = &problem{http.StatusConflict, "salt_missing", "The user's salt is gone, and with it all secrets that were set: none of them can be opened again. Remove each of them, then set them anew. Those that come from spec.secretRefs are replaced by themselves once the others are removed.", 0}
	errSaltInvalid        = &problem{http.StatusConflict, "salt_invalid", "The Secret with the user's salt holds none. An administrator must restore it, or delete it and with it all that was sealed.", 0}
	errConflict           = &problem{http.StatusConflict, "conflict", "The secrets are being changed by somebody else; try again.", 0}
	errBodyTooLarge       = &problem{http.StatusRequestEntityTooLarge, "body_too_large", "The request body is larger than this resource takes.", 0}
	errTooMuch            = &problem{http.StatusRequestEntityTooLarge, "secrets_too_large", "The bridge's secrets together are larger than a Secret can be.", 0}
	errMediaType          = &problem{http.StatusUnsupportedMediaType, "unsupported_media_type", "This resource takes another Content-Type.", 0}
	errInternal           = &problem{http.StatusInternalServerError, "internal", "Internal error.", 0}
	errClusterRefused     = &problem{http.StatusInternalServerError, "cluster_refused", "The API server refuses what this needs. An administrator has to look at the keybroker's log, which says why.", 0}
	errUnreadable         = &problem{http.StatusInternalServerError, "secret_unreadable", "A stored secret cannot be opened.", 0}
	errNotPrepared        = &problem{http.StatusServiceUnavailable, "bridge_not_prepared", "What an earlier HostedBridge of this name left is still being removed.", 5 * time.Second}
	errClusterAway        = &problem{http.StatusServiceUnavailable, "cluster_unavailable", "The API server did not answer.", 5 * time.Second}
	errMasterKeyAway      = &problem{http.StatusServiceUnavailable, "master_key_unavailable", "The provider of the master key did not answer.", 5 * time.Second}
	errBusy               = &problem{http.StatusServiceUnavailable, "busy", "Too many requests at once.", time.Second}
	errCanceledRequest    = &problem{statusClientClosed, "canceled", "The client left.", 0}
)

// storeProblems are what the caller sees of the store's errors; the first that
// fits.
var storeProblems = []struct {
	err error
	*problem
}{
	{envelope.ErrUnavailable, errMasterKeyAway},
	{store.ErrUnavailable, errClusterAway},
	{store.ErrForbidden, errClusterRefused},
	{store.ErrNotReady, errNotPrepared},
	{store.ErrUnreadable, errUnreadable},
	{store.ErrNotOwned, errNotOwned},
	{store.ErrSaltMissing, errSaltMissing},
	{store.ErrSaltInvalid, errSaltInvalid},
	{store.ErrConflict, errConflict},
	{store.ErrTooLarge, errTooMuch},
	{store.ErrNotFound, errSecretNotFound},
	{store.ErrName, errName},
}

// statusClientClosed stands in metrics and logs for a client that left before
// it was answered. It is never read.
const statusClientClosed = 499

// publicProblem returns what the caller may know of err. Anything that nobody
// made public is an internal error.
func publicProblem(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	for _, p := range storeProblems {
		if errors.Is(err, p.err) {
			return p.problem
		}
	}
	return errInternal
}

// isProblem reports whether it is decided what the caller sees of err.
func isProblem(err error) bool {
	_, ok := errors.AsType[*problem](err)
	return ok
}

// writeProblem answers with p as RFC 9457 has it.
func writeProblem(w http.ResponseWriter, p *problem) {
	public := problems.Problem{Status: p.status, Code: p.code, Detail: p.detail, RetryAfter: p.retryAfter}
	body := public.Encode(nil)
	h := w.Header()
	public.SetHeader(h, "hosted-bridge-keybroker")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	// Whoever hung up does not read the error either.
	_, _ = w.Write(body)
}
