// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// The problems. Their causes are only logged: a cause is added by wrapping,
// fmt.Errorf("%w: pod gone", errPod).
var (
	errTokenMissing       = httpapi.New(http.StatusUnauthorized, "token_missing", "Send the pod's projected token in the header Authorization, after the word Bearer.")
	errTokenRefused       = httpapi.New(http.StatusUnauthorized, "token_refused", "The token is not a current token of a pod for this audience.")
	errPod                = httpapi.New(http.StatusForbidden, "pod_not_current", "The token's pod does not exist, has ended, or is not the one of the token.")
	errServiceAccount     = httpapi.New(http.StatusForbidden, "service_account_not_current", "The token's service account is not the one of the token.")
	errNotABridge         = httpapi.New(http.StatusForbidden, "not_a_bridge", "The token's service account or its pod belongs to no HostedBridge.")
	errBridge             = httpapi.New(http.StatusForbidden, "bridge_not_current", "The HostedBridge of the token's pod does not exist any more.")
	errCaller             = httpapi.New(http.StatusForbidden, "caller_not_allowed", "This caller may not do this.")
	errCertificateMissing = httpapi.New(http.StatusForbidden, "certificate_missing", "Show the certificate that POST /v1/certificates gives.")
	errRequest            = httpapi.New(http.StatusBadRequest, "certificate_request_invalid", "The body is not a PKCS #10 request of an Ed25519 key, in DER.")
	errImage              = httpapi.New(http.StatusBadRequest, "image_invalid", `The body is not {"repository": HOST/PATH, "digest": "sha256:..."}, with a digest of 64 lower-case hexadecimal digits.`)
	errClaims             = httpapi.New(http.StatusBadRequest, "claims_invalid", "The body is not the claims of an access token.")
	errBodyUnreadable     = httpapi.New(http.StatusBadRequest, "body_unreadable", "The request body broke off or came too slowly.")
	errName               = httpapi.New(http.StatusBadRequest, "name_invalid", "A namespace, HostedBridge or secret cannot have this name. A secret's is 1 to 64 upper-case letters, digits or underscores beginning with a letter, such as GITHUB_TOKEN, or a file's name with a dot in it, such as credentials.json.")
	errNotFound           = httpapi.New(http.StatusNotFound, "not_found", "There is nothing here.")
	errBridgeNotFound     = httpapi.New(http.StatusNotFound, "bridge_not_found", "There is no such HostedBridge.")
	errSharedNotFound     = httpapi.New(http.StatusNotFound, "shared_not_found", "There is no such SharedServer.")
	errNotShared          = httpapi.New(http.StatusConflict, "secret_not_shared", "The SharedServer has no secret of this name in spec.secrets.")
	errSharedEmpty        = httpapi.New(http.StatusBadRequest, "secret_empty", "A shared secret cannot be empty; a removal is a DELETE.")
	errSharedLimit        = httpapi.New(http.StatusConflict, "secret_limit_reached", "A SharedServer has at most 16 secrets, those included that its spec does not name any more; remove one of these first.")
	errSecretNotFound     = httpapi.New(http.StatusNotFound, "secret_not_found", "There is no secret of this name.")
	errMethod             = httpapi.New(http.StatusMethodNotAllowed, "method_not_allowed", "The Allow header names the methods of this resource.")
	errNotOwned           = httpapi.New(http.StatusConflict, "secret_not_owned", "A Secret of that name belongs to something else than this HostedBridge.")
	errNotLogin           = httpapi.New(http.StatusForbidden, "secret_not_writable", "A bridge may set only what a server of its own names as auth.oauth.tokenSecret.")
	errEmpty              = httpapi.New(http.StatusBadRequest, "secret_empty", "The tokens of a login cannot be empty.")
	errRevision           = httpapi.New(http.StatusPreconditionFailed, "revision_changed", "The secrets are others than those of the revision in If-Match; ask for them.")
	errManaged            = httpapi.New(http.StatusConflict, "secret_managed", "This secret comes from spec.secretRefs; change it there.")
	errSecretLimit        = httpapi.New(http.StatusConflict, "secret_limit_reached", "The tier allows no more secrets.")
	errTierUnknown        = httpapi.New(http.StatusConflict, "tier_unknown", "spec.tier of the HostedBridge is not a tier of this installation.")
	errSaltMissing        = httpapi.New(http.StatusConflict, "salt_missing", "The user's salt is gone, and with it all secrets that were set: none of them can be opened again. Remove each of them, then set them again. Those that come from spec.secretRefs are replaced by themselves once the others are removed.")
	errSaltInvalid        = httpapi.New(http.StatusConflict, "salt_invalid", "The Secret with the user's salt holds none. An administrator must restore it, or delete it and with it all that was sealed.")
	errConflict           = httpapi.New(http.StatusConflict, "conflict", "The secrets are being changed by somebody else; try again.")
	errBodyTooLarge       = httpapi.New(http.StatusRequestEntityTooLarge, "body_too_large", "The request body is larger than this resource takes.")
	errTooMuch            = httpapi.New(http.StatusRequestEntityTooLarge, "secrets_too_large", "The bridge's secrets together are larger than a Secret can be.")
	errMediaType          = httpapi.New(http.StatusUnsupportedMediaType, "unsupported_media_type", "This resource takes another Content-Type.")
	errInternal           = httpapi.New(http.StatusInternalServerError, "internal", "Internal error.")
	errClusterRefused     = httpapi.New(http.StatusInternalServerError, "cluster_refused", "The API server refuses what this needs. An administrator has to look at the keybroker's log, which says why.")
	errUnreadable         = httpapi.New(http.StatusInternalServerError, "secret_unreadable", "A stored secret cannot be opened.")
	errNotPrepared        = httpapi.New(http.StatusServiceUnavailable, "bridge_not_prepared", "What an earlier HostedBridge of this name left is still being removed.").After(5 * time.Second)
	errClusterAway        = httpapi.New(http.StatusServiceUnavailable, "cluster_unavailable", "The API server did not answer.").After(5 * time.Second)
	errMasterKeyAway      = httpapi.New(http.StatusServiceUnavailable, "master_key_unavailable", "The provider of the master key did not answer.").After(5 * time.Second)
	errBusy               = httpapi.New(http.StatusServiceUnavailable, "busy", "Too many requests at once.").After(time.Second)
	errCanceledRequest    = httpapi.New(statusClientClosed, "canceled", "The client left.")
)

// storeProblems are the problems that callers see for the store's errors; the
// first match counts.
var storeProblems = []struct {
	err     error
	problem *httpapi.Problem
}{
	{envelope.ErrUnavailable, errMasterKeyAway},
	{secretstore.ErrUnavailable, errClusterAway},
	{secretstore.ErrForbidden, errClusterRefused},
	{secretstore.ErrNotReady, errNotPrepared},
	{secretstore.ErrUnreadable, errUnreadable},
	{secretstore.ErrNotOwned, errNotOwned},
	{secretstore.ErrSaltMissing, errSaltMissing},
	{secretstore.ErrSaltInvalid, errSaltInvalid},
	{secretstore.ErrConflict, errConflict},
	{secretstore.ErrTooLarge, errTooMuch},
	{secretstore.ErrNotFound, errSecretNotFound},
	{secretstore.ErrName, errName},
}

// statusClientClosed stands in metrics and logs for a client that left before
// it was answered. It is never read.
const statusClientClosed = 499

// publicProblem returns what the caller may know of err. An error that no list
// makes public is an internal error.
func publicProblem(err error) *httpapi.Problem {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		return p
	}
	for _, p := range storeProblems {
		if errors.Is(err, p.err) {
			return p.problem
		}
	}
	return errInternal
}

// isProblem reports whether err already has a problem for the caller.
func isProblem(err error) bool {
	_, ok := errors.AsType[*httpapi.Problem](err)
	return ok
}

// writeProblem answers with p in the form of RFC 9457.
func writeProblem(w http.ResponseWriter, p *httpapi.Problem) {
	body := p.Encode(nil)
	h := w.Header()
	p.SetHeader(h, "hosted-bridge-keybroker")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	// A client that closed the connection does not read the error either.
	_, _ = w.Write(body)
}
