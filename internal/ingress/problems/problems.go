// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package problems has all that the ingress refuses a request with. They stand in one
// place so that their codes, which are part of the API, are seen together. Those of keys are in
// package users/keys.
package problems

import (
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// RetrySoon is what the 503 answers advise.
const RetrySoon = httpapi.RetrySoon

// The problems. One that several causes share stands here once, so that the
// answers cannot differ: an unknown key and an expired one, an unknown user
// and somebody else's.
var (
	Unauthorized     = httpapi.New(http.StatusUnauthorized, "unauthorized", "Send a valid API key in the header X-API-Key, or in Authorization after the word Bearer.")
	TooManyAttempts  = httpapi.New(http.StatusTooManyRequests, "too_many_attempts", "There were too many requests with keys that open nothing. A valid key is never refused for that.").After(time.Second)
	AdminDisabled    = httpapi.New(http.StatusServiceUnavailable, "admin_disabled", "This installation has no admin key, so that nobody can administer it here.")
	OriginNotAllowed = httpapi.New(http.StatusForbidden, "origin_not_allowed", "Requests from this Origin are not allowed.")
	HostNotAllowed   = httpapi.New(http.StatusForbidden, "host_not_allowed", "This service is not known under this Host.")
	NotFound         = httpapi.NotFound
	MethodNotAllowed = httpapi.New(http.StatusMethodNotAllowed, "method_not_allowed", "The Allow header names the methods of this resource.")
	Hops             = httpapi.New(http.StatusBadRequest, "hops_invalid", "The header Hosted-Bridge-Hops names at most 8 bridges, by 16 hexadecimal digits each; whatever else it holds hides a loop.")
	SessionInvalid   = httpapi.New(http.StatusBadRequest, "session_invalid", "The query is not the one of the endpoint that GET has told.")
	RepeatedHeader   = httpapi.New(http.StatusBadRequest, "repeated_header", "A header that can have one value was sent more than once.")
	BodyUnreadable   = httpapi.New(http.StatusBadRequest, "body_unreadable", "The request body broke off or came too slowly.")
	NotOneMessage    = httpapi.New(http.StatusBadRequest, "message_invalid", "Send exactly one JSON value, in which each member of a message stands once and is spelled as the protocol has it.")
	BodyTooLarge     = httpapi.BodyTooLarge
	BatchTooLarge    = httpapi.New(http.StatusRequestEntityTooLarge, "batch_too_large", "The batch has more requests than the tier allows in a minute; send it in parts.")
	BodyNotAllowed   = httpapi.New(http.StatusBadRequest, "body_not_allowed", "A request of this method has no body at this path.")
	FormType         = httpapi.New(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send Content-Type: application/x-www-form-urlencoded.")
	MediaType        = httpapi.New(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send Content-Type: application/json.")
	Insufficient     = httpapi.New(http.StatusForbidden, "insufficient_scope", "The access token does not allow this; WWW-Authenticate names the scopes that do.")
	ManageNeeded     = httpapi.New(http.StatusForbidden, "insufficient_scope", "Send an API key, or an access token with the scope bridge:manage.")
	RoleNeeded       = httpapi.New(http.StatusForbidden, "role_needed", "None of your roles allows this.")
	SeveralBridges   = httpapi.New(http.StatusForbidden, "several_bridges", "This login opens several bridges. Use the URL of one of them, which ends with /u/USER/mcp.")
	BridgeNotNamed   = httpapi.New(http.StatusForbidden, "bridge_not_named", "No bridge of this login is for this URL. Use the URL of one of its bridges, which ends with /u/USER/mcp.")
	KeyAmbiguous     = httpapi.New(http.StatusForbidden, "key_ambiguous", "This key is registered for several users and is refused here. Use the URL that ends with /u/USER/mcp, or another key: keys that are made today are for one user.")
	LoginAway        = httpapi.New(http.StatusServiceUnavailable, "login_unavailable", "Access tokens cannot be checked at the moment: the keys of their issuer are not known. API keys work.").After(RetrySoon)
	Internal         = httpapi.New(http.StatusInternalServerError, "internal", "Internal error.")
	BridgeFailed     = httpapi.New(http.StatusBadGateway, "bridge_failed", "The bridge broke the connection before it answered; the call may have run.")
	NotReady         = httpapi.NotReady
	Ending           = httpapi.New(http.StatusServiceUnavailable, "ingress_ending", "This replica of the ingress ended before the call did; the call may have run.").After(RetrySoon)
	Suspended        = httpapi.New(http.StatusServiceUnavailable, "bridge_suspended", "The bridge is suspended.")
	Starting         = httpapi.New(http.StatusServiceUnavailable, "bridge_starting", "The bridge is starting.").After(RetrySoon)
	Blocked          = httpapi.New(http.StatusServiceUnavailable, "bridge_blocked", "The bridge cannot start. Ask an administrator.").After(time.Minute)
	Asleep           = httpapi.New(http.StatusServiceUnavailable, "bridge_asleep", "The bridge sleeps, and could not be woken in time.").After(RetrySoon)
	Unreachable      = httpapi.New(http.StatusServiceUnavailable, "bridge_unreachable", "The bridge could not be reached; the call did not run.").After(RetrySoon)
	AuditAway        = httpapi.New(http.StatusServiceUnavailable, "audit_unavailable", "No audit entry can be written at the moment, and without one there is no answer; a call that was under way may have run.").After(RetrySoon)
	Busy             = httpapi.New(http.StatusServiceUnavailable, "busy", "Too many large calls are in flight.").After(RetrySoon)
	TooManyHeld      = httpapi.New(http.StatusServiceUnavailable, "too_many_waiting", "Too many requests already wait for the bridge to start.").After(RetrySoon)

	PartQuery    = httpapi.New(http.StatusBadRequest, "query_invalid", "This route takes no query, or not one of this form: name=value, joined with &, in percent encoding.")
	TooManyReads = httpapi.New(http.StatusTooManyRequests, "too_many_requests", "There were too many requests of the catalog from this address.").After(time.Second)

	TooManyLogins = httpapi.New(http.StatusTooManyRequests, "too_many_requests", "There were too many requests for logins or pages from this address. Wait a few seconds, and try again.").After(time.Second)

	TooManyWrites = httpapi.New(http.StatusTooManyRequests, "too_many_requests", "There were too many requests with keys of this publisher.").After(time.Second)

	AccessRequest         = httpapi.New(http.StatusUnprocessableEntity, "access_request_invalid", `Send {"access": "Suspended"}; access is Allowed, Suspended or Offboarded, and "dryRun": true says what would follow.`)
	AccessRequestTooLarge = httpapi.New(http.StatusRequestEntityTooLarge, "body_too_large", "A request for an access is limited to 4 KiB.")

	ProgramNone      = httpapi.New(http.StatusNotFound, "program_not_found", "The installation has no ProgramBundle of this name. GET /admin/programs has the names.")
	ProgramChanged   = httpapi.New(http.StatusConflict, "program_changed", "The ProgramBundle is not the one that you read: it is deleted, or made again already. Read it again.")
	ProgramEmpty     = httpapi.New(http.StatusNotFound, "program_not_installed", "The program is not installed, so that it has no packages yet. Its state says why.")
	ProgramLost      = httpapi.New(http.StatusNotFound, "program_lost", "The store does not have what is installed any more. It is made again within two minutes.")
	ProgramTooLarge  = httpapi.New(http.StatusUnprocessableEntity, "program_too_large", "The program has so many packages that this file would have more than 3 MiB, which are not sent.")
	ProgramsQuery    = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	ProgramsDisabled = httpapi.New(http.StatusServiceUnavailable, "bundles_disabled", "This installation does not install programs once for all users: each is fetched when it starts. Set bundles.enabled in the chart's values.")
	StoreAway        = httpapi.New(http.StatusServiceUnavailable, "store_unavailable", "The store does not answer, so that it is not known what the program contains. Programs that run go on.").After(RetrySoon)

	AuditQuery         = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	AuditIndexDisabled = httpapi.New(http.StatusServiceUnavailable, "audit_index_disabled", "This installation keeps no index of its audit trail; --audit-index names one.")
	AuditIndexAway     = httpapi.New(http.StatusServiceUnavailable, "audit_index_unavailable", "The index of the audit trail does not answer. The trail itself is not affected.").After(RetrySoon)
	UsersQuery         = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	AnalyticsQuery     = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	AnalyticsSlow      = httpapi.New(http.StatusServiceUnavailable, "analytics_too_slow", "The calls of this time could not be counted within 30 seconds. Ask for a shorter time, or one question after the other.").After(RetrySoon)
	InventoryUnknown   = httpapi.New(http.StatusServiceUnavailable, "cluster_unavailable", "This replica is still loading. Try again in a few seconds.").After(RetrySoon)
	KeysAway           = httpapi.ClusterAway
	ActNotAudited      = httpapi.New(http.StatusServiceUnavailable, "audit_unavailable", "The act was done or may have been, and could not be written to the audit trail.").After(RetrySoon)

	ServerNotFound   = httpapi.New(http.StatusNotFound, "server_not_found", "The bridge has no server of this name, and no profile offers one. GET /u/USER/servers has the names.")
	ChoiceRequest    = httpapi.New(http.StatusUnprocessableEntity, "choice_invalid", `Send {"use": "On"}; use is On or Off, and "deny": ["delete_file"] takes tools away.`)
	ChoiceTooLarge   = httpapi.New(http.StatusRequestEntityTooLarge, "body_too_large", "A choice is limited to 64 KiB.")
	ChoiceRefused    = httpapi.New(http.StatusConflict, "choice_not_permitted", "The profile does not permit the choice.")
	ChoiceManaged    = httpapi.New(http.StatusConflict, "choice_managed", "A manifest holds the choice; change spec.choices there.")
	ConnectionNone   = httpapi.New(http.StatusNotFound, "connection_not_found", "No account is connected for a server of this name. GET /u/USER/connections has the names.")
	ToolsQuery       = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	UsageQuery       = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	ActivityQuery    = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
	TooManyQuestions = httpapi.New(http.StatusTooManyRequests, "too_many_requests", "There were too many requests about this bridge.").After(time.Second)

	SecretName     = httpapi.New(http.StatusBadRequest, "secret_name_invalid", "The name of a secret is that of an environment variable, 1 to 64 upper-case letters, digits or underscores that begin with a letter, such as GITHUB_TOKEN; or that of a file with a dot in it, up to 64 letters, digits, underscores, hyphens and single dots that neither begin nor end it, such as credentials.json.")
	SecretEmpty    = httpapi.New(http.StatusBadRequest, "secret_empty", "A secret cannot be empty. DELETE removes it.")
	SecretNotFound = httpapi.New(http.StatusNotFound, "secret_not_found", "No secret of this name is set.")
	SecretManaged  = httpapi.New(http.StatusConflict, "secret_managed", "This secret comes from a Secret that spec.secretRefs names; change it there.")
	// SecretNotShared is of a SharedServer.
	SecretNotShared = httpapi.New(http.StatusConflict, "secret_not_shared", "The SharedServer has no secret of this name in spec.secrets.")
	SecretLimit     = httpapi.New(http.StatusConflict, "secret_limit_reached", "The tier allows no further secret.")
	TierUnknown     = httpapi.New(http.StatusConflict, "tier_unknown", "spec.tier of the HostedBridge is not a tier of this installation.")
	SecretsLost     = httpapi.New(http.StatusConflict, "secrets_lost", "What was set cannot be opened any more. Unless an administrator restores it, remove each secret and set it again.")
	SecretTooLarge  = httpapi.New(http.StatusRequestEntityTooLarge, "body_too_large", "A secret is limited to 64 KiB.")
	SecretsFull     = httpapi.New(http.StatusRequestEntityTooLarge, "secrets_too_large", "The user's secrets together would be larger than can be stored.")
	SecretsDamaged  = httpapi.New(http.StatusInternalServerError, "secrets_damaged", "What is stored of the user's secrets cannot be used; an administrator has to see to it.")
	SecretsBusy     = httpapi.New(http.StatusServiceUnavailable, "secrets_unavailable", "Secrets can be neither read nor changed at the moment; nothing was changed.").After(RetrySoon)
	SecretsAway     = httpapi.New(http.StatusServiceUnavailable, "secrets_unavailable", "The keybroker did not answer. A change may have been made or not; it can be sent again.").After(RetrySoon)
)
