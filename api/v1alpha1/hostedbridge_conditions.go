// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a HostedBridge. Ready is True when Accepted and
// WorkloadAvailable are: a secret that is missing takes the server that needs
// it out of service, and not the bridge.
const (
	// ConditionAccepted says whether the installation takes the spec.
	ConditionAccepted = "Accepted"
	// ConditionSecretsSealed says whether every secret the spec names is
	// stored encrypted for this user. It is Unknown while no keybroker is
	// there to say.
	ConditionSecretsSealed = "SecretsSealed"
	// ConditionWorkloadAvailable says whether the bridge's pod runs and
	// answers its readiness probe, or is rightly suspended.
	ConditionWorkloadAvailable = "WorkloadAvailable"
	// ConditionNetworkIsolated says whether the cluster's network keeps the
	// bridge's pod from others. Ready does not depend on it.
	ConditionNetworkIsolated = "NetworkIsolated"
	// ConditionReady sums up: calls to status.url reach this bridge.
	ConditionReady = "Ready"
	// ConditionStable is False if the bridge's process ended repeatedly within an
	// hour although nobody asked it to. Otherwise the condition is not there.
	ConditionStable = "Stable"
	// ConditionProfilesApplied says which BridgeProfiles decide about the bridge, and
	// which of its choices have no effect. It is False while a later revision of a
	// profile has not reached the bridge, and for a group in spec.groups that nothing else names.
	// If no profile selects the bridge, and it has neither choices nor such a group, the condition is
	// not there.
	ConditionProfilesApplied = "ProfilesApplied"
	// ConditionServersHealthy says whether all servers of the bridge can be used. It
	// does not decide about Ready.
	ConditionServersHealthy = "ServersHealthy"
)

// Conditions by which kstatus, the library of Flux and of cli-utils, judges an object of any
// kind. Each is there only while it is True. Its reason and message are those of the condition
// that it is derived from.
const (
	// ConditionStalled means that the object stays as it is until somebody changes something.
	ConditionStalled = "Stalled"
	// ConditionReconciling means that the object is on its way to what its spec says.
	ConditionReconciling = "Reconciling"
)

// Reasons of the ProfilesApplied condition. NoRoom and ChoiceIgnored, which EffectiveServer
// has too, are others of them, with the status True.
const (
	// ReasonProfilesApplied: the bridge has the last revision of its profiles.
	ReasonProfilesApplied = "Applied"
	// ReasonProfilesConflict: profiles of equal priority disagree, and the message says
	// which of them decides.
	ReasonProfilesConflict = "ProfilesConflict"
	// ReasonRolloutPending: a later revision has not reached the bridge yet.
	ReasonRolloutPending = "RolloutPending"
	// ReasonUnknownGroup: spec.groups has a group that no BridgeProfile, SharedServer or directory
	// names, so it has no effect. The condition is False.
	ReasonUnknownGroup = "UnknownGroup"
)

// Condition types of a BridgeProfile. Ready is True if the spec is accepted and all
// bridges have it. Accepted is a condition type of HostedBridges too.
const (
	// ConditionConflicting is True if another profile of the same priority disagrees
	// about a bridge.
	ConditionConflicting = "Conflicting"
	// ConditionProgressing is True while a change reaches the bridges.
	ConditionProgressing = "Progressing"
)

// Reasons of a BridgeProfile's conditions. Accepted, UnknownTier and InvalidServer, which
// HostedBridges have too, are others of Accepted.
const (
	// ReasonUnknownRecipe: a server names a recipe, or a version of one, that the
	// catalog does not have.
	ReasonUnknownRecipe = "UnknownRecipe"
	// ReasonUnknownShared: a server names a SharedServer that does not exist, or is not
	// accepted.
	ReasonUnknownShared = "UnknownShared"
	// ReasonEqualPriority: another profile of the same priority disagrees.
	ReasonEqualPriority = "EqualPriority"
	// ReasonNoConflict: no other profile of the same priority disagrees.
	ReasonNoConflict = "NoConflict"
	// ReasonRolloutComplete: all bridges have the last accepted revision.
	ReasonRolloutComplete = "Complete"
	// ReasonRollingOut: a change reaches the bridges.
	ReasonRollingOut = "RollingOut"
	// ReasonRolloutPaused: too many bridges failed that have the last revision.
	ReasonRolloutPaused = "RolloutPaused"
)

// Reasons of the Accepted condition.
const (
	// ReasonAccepted: the spec is taken.
	ReasonAccepted = "Accepted"
	// ReasonRecipesUnusable: the spec is taken, and servers, which the message
	// names, are out of service for their recipes. Accepted is True.
	ReasonRecipesUnusable = "RecipesUnusable"
	// ReasonRuntimesMissing: the spec is taken, and servers, which the message
	// names, are out of service because the installation has no image for their
	// programs. Accepted is True.
	ReasonRuntimesMissing = "RuntimesMissing"
	// ReasonProgramsNotInstalled: the spec is taken, and servers, which the message
	// names, are out of service because their packages could not be installed.
	// Accepted is True.
	ReasonProgramsNotInstalled = "ProgramsNotInstalled"
	// ReasonKeysShared: the spec is taken, and keys, which the message names, are
	// refused where the URL names no user, since a HostedBridge of another user has
	// their hashes too. Both bridges say so; the message has the command that makes
	// a key which cannot be shared. Accepted is True.
	ReasonKeysShared = "KeysShared"
	// ReasonUserIDConflict: an older HostedBridge has the same user id. This
	// object gets nothing until that one is deleted.
	ReasonUserIDConflict = "UserIDConflict"
	// ReasonUnknownTier: spec.tier names no tier of this installation. What
	// already runs is left as it is.
	ReasonUnknownTier = "UnknownTier"
	// ReasonTierLimitExceeded: the spec asks for more than the tier allows.
	// What already runs is left as it is.
	ReasonTierLimitExceeded = "TierLimitExceeded"
	// ReasonSecretNotGranted: a header, a program or the auth of a server names
	// a secret that spec.servers[].secrets does not grant to it. What already
	// runs is left as it is.
	ReasonSecretNotGranted = "SecretNotGranted"
	// ReasonInvalidHeader: the value of a server's header cannot be read, such
	// as ${ without an end. What already runs is left as it is.
	ReasonInvalidHeader = "InvalidHeader"
	// ReasonInvalidServer: a text of a server's program cannot be read, or the
	// bridge could not take the server for another cause, which the message
	// names. What already runs is left as it is.
	ReasonInvalidServer = "InvalidServer"
	// ReasonNetworkPolicyNotEnforced: the cluster's network does not do what
	// network policies say. It is a reason of NetworkIsolated. Where the
	// installation requires that policies hold, it is one of Accepted too; what
	// already runs is left as it is.
	ReasonNetworkPolicyNotEnforced = "NetworkPolicyNotEnforced"
)

// Reasons of the NetworkIsolated condition. One more is
// NetworkPolicyNotEnforced, with which it is Unknown, or False where the
// installation requires that policies hold.
const (
	// ReasonNetworkPolicyEnforced: the namespace has the installation's policy,
	// and policies hold, as was last tried.
	ReasonNetworkPolicyEnforced = "Enforced"
	// ReasonNetworkPolicyOff: the installation makes no policies.
	ReasonNetworkPolicyOff = "NetworkPolicyOff"
	// ReasonNetworkPolicyMissing: the namespace does not have the installation's
	// policy, because it is new or because somebody else's has that name.
	ReasonNetworkPolicyMissing = "NetworkPolicyMissing"
	// ReasonNotProbed: the namespace has the installation's policy, and nobody
	// tries whether policies hold.
	ReasonNotProbed = "NotProbed"
	// ReasonProbePending: it is being tried whether policies hold.
	ReasonProbePending = "ProbePending"
	// ReasonProbeFailed: it could not be tried; the message says why. It is tried
	// again.
	ReasonProbeFailed = "ProbeFailed"
)

// Reasons of the SecretsSealed condition. Three more are TierLimitExceeded, when
// spec.secretRefs give more secrets than the tier allows, NotOwned, when the
// Secret in which they would be kept belongs to somebody else, and ApplyFailed,
// when the API server refuses to let it be written.
const (
	// ReasonNothingToSeal: the bridge has no secrets and names none.
	ReasonNothingToSeal = "NothingToSeal"
	// ReasonSealed: every secret that the spec names is sealed.
	ReasonSealed = "Sealed"
	// ReasonSealing: the keybroker has not yet acted on this spec.
	ReasonSealing = "Sealing"
	// ReasonSecretsMissing: servers name secrets that nobody has set. The
	// message says which; those servers are out of service until then.
	ReasonSecretsMissing = "SecretsMissing"
	// ReasonSourceMissing: a Secret or key of spec.secretRefs does not exist.
	// What was sealed of it before stays.
	ReasonSourceMissing = "SourceMissing"
	// ReasonSourceInvalid: a Secret of spec.secretRefs cannot be sealed: a
	// name or a value is not what a secret can have, two give the same secret,
	// or it is not a Secret that a bridge may be given.
	ReasonSourceInvalid = "SourceInvalid"
	// ReasonSecretsUnreadable: a sealed secret does not open. The keybroker's
	// log has more. Setting it again mends it.
	ReasonSecretsUnreadable = "SecretsUnreadable"
	// ReasonKeybrokerUnavailable: no keybroker is ready. What runs goes on;
	// nothing can be sealed and no pod can start.
	ReasonKeybrokerUnavailable = "KeybrokerUnavailable"
)

// Reasons of the WorkloadAvailable condition.
const (
	// ReasonAvailable: the pod is ready.
	ReasonAvailable = "Available"
	// ReasonProgressing: the pod is being made, or is not ready yet.
	ReasonProgressing = "Progressing"
	// ReasonPodRefused: the API server refuses the pod, for example by a ResourceQuota, a LimitRange
	// or an admission policy. The message has its words.
	ReasonPodRefused = "PodRefused"
	// ReasonPodUnschedulable: no node has room for the pod. The message has the scheduler's words.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonImageNotPulled: an image that the bridge needs cannot be pulled.
	ReasonImageNotPulled = "ImageNotPulled"
	// ReasonAsleep: no pod runs, because spec.desiredState is OnDemand and the bridge
	// was not used. The next call wakes it.
	ReasonAsleep = "Asleep"
	// ReasonSuspended: no pod runs, because spec.desiredState is Suspended.
	ReasonSuspended = "Suspended"
	// ReasonNotOwned: an object with the name that the bridge needs exists
	// and belongs to somebody else. It is not touched.
	ReasonNotOwned = "NotOwned"
	// ReasonApplyFailed: the API server refused one of the bridge's objects;
	// the message says which and why.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonTrustMissing: the keybroker has not yet published the certificate
	// by which pods recognise it.
	ReasonTrustMissing = "TrustMissing"
	// ReasonNotAccepted: no pod is made for a spec that is not accepted.
	ReasonNotAccepted = "NotAccepted"
)

// PodBlocked reports whether a reason of the WorkloadAvailable condition is one that an administrator
// has to look at before the pod can run. Kubernetes goes on trying.
func PodBlocked(reason string) bool {
	return reason == ReasonPodRefused || reason == ReasonPodUnschedulable || reason == ReasonImageNotPulled
}

// Reasons of the Ready condition. Where it is False it takes the reason of the
// first condition that is not True.
const (
	// ReasonReady: calls reach the bridge.
	ReasonReady = "Ready"
)

// Reasons of the ServersHealthy condition. It is also False with
// ReasonServersOutOfService, if the operator left out all servers in the message.
const (
	// ReasonServersHealthy: all servers can be used.
	ReasonServersHealthy = "ServersHealthy"
	// ReasonServersUnhealthy: some servers cannot be used. The message names them and
	// the causes.
	ReasonServersUnhealthy = "ServersUnhealthy"
	// ReasonServersUnknown: the condition is Unknown, because the bridge has not
	// reported all of its servers yet.
	ReasonServersUnknown = "ServersUnknown"
)

// The states of a server in status.serverStates.
const (
	ServerHealthy    = "Healthy"
	ServerUnhealthy  = "Unhealthy"
	ServerConnecting = "Connecting"
)

// Reasons of the Stable condition, which is False with each.
const (
	// ReasonServersOutOfService: the process ended repeatedly while it handled
	// certain servers, which are out of service for some time. The message names
	// them.
	ReasonServersOutOfService = "ServersOutOfService"
	// ReasonTerminatedRepeatedly: the process ended three times or more. Either
	// it is not known which server is the cause, or that server is in service
	// again.
	ReasonTerminatedRepeatedly = "TerminatedRepeatedly"
)

// Reasons of a server's recipe, in status.recipes. With the first three the
// server is in service, with the next two it is where it was before, and with
// the others it is out of service.
const (
	// ReasonRecipeInUse: the server is what the recipe says.
	ReasonRecipeInUse = "InUse"
	// ReasonRecipeDeprecated: so it is, and the recipe should not be used anymore.
	ReasonRecipeDeprecated = "Deprecated"
	// ReasonRecipeKept: the catalog does not have the recipe, or the version, any
	// more, or has another one under the name, or the latest version does not fit
	// beside the bridge's other recipes. The server stays what it was.
	ReasonRecipeKept = "Kept"
	// ReasonRecipeMoved: the latest version runs at another place than the one
	// before, such as another host. It is not followed there.
	ReasonRecipeMoved = "Moved"
	// ReasonRecipeSecretsAdded: the latest version names more secrets than the
	// one before, or than the spec grants. It is not followed.
	ReasonRecipeSecretsAdded = "SecretsAdded"
	// ReasonRecipeNotFound: the catalog does not have the recipe.
	ReasonRecipeNotFound = "NotFound"
	// ReasonRecipeNotAccepted: the catalog has the recipe and does not serve it.
	ReasonRecipeNotAccepted = "NotAccepted"
	// ReasonRecipeVersionUnknown: the recipe does not have the version.
	ReasonRecipeVersionUnknown = "VersionUnknown"
	// ReasonRecipeLocalOnly: the recipe's author keeps it to people's own machines.
	ReasonRecipeLocalOnly = "LocalOnly"
	// ReasonRecipeNotHostable: no transport of the recipe is one that this
	// installation can host.
	ReasonRecipeNotHostable = "NotHostable"
	// ReasonRecipeSecretNotGranted: the version names a secret that is not among
	// the secrets that spec.servers[].secrets lets the server use.
	ReasonRecipeSecretNotGranted = "SecretNotGranted"
)
