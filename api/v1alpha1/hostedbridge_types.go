// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedBridge is the MCP bridge of one user: a pod behind /u/<userID>/mcp.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hb,categories=hosted-bridge
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.status.userID`
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.status.tier`
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.status.profiles[0].name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Servers",type=string,JSONPath=`.status.servers`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.tools`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Last-Active",type=date,JSONPath=`.status.lastActivityTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Key-Version",type=integer,priority=1,JSONPath=`.status.keyVersion`
// +kubebuilder:printcolumn:name="Pod",type=string,priority=1,JSONPath=`.status.podName`
// +kubebuilder:validation:XValidation:rule="has(self.spec.userID) || self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')",message="spec.userID is not set and metadata.name is not a user id: set spec.userID to 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.userID) ? self.spec.userID : self.metadata.name) == (has(oldSelf.spec.userID) ? oldSelf.spec.userID : oldSelf.metadata.name)",message="spec.userID is immutable: a bridge's secrets belong to its user; delete this HostedBridge and create one for the other user"
type HostedBridge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the bridge.
	// +optional
	Spec HostedBridgeSpec `json:"spec,omitempty"`

	// status is the last observed state of the bridge.
	// +optional
	// +kubebuilder:default={}
	Status HostedBridgeStatus `json:"status,omitempty"`
}

// HostedBridgeList is a list of HostedBridges.
//
// +kubebuilder:object:root=true
type HostedBridgeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HostedBridge `json:"items"`
}

// Mode is how a bridge lists the tools of its servers.
//
// +kubebuilder:validation:Enum=Direct;Router
type Mode string

// The modes.
const (
	// ModeDirect lists every tool of every server.
	ModeDirect Mode = "Direct"
	// ModeRouter lists one tool, which finds and calls the others.
	ModeRouter Mode = "Router"
)

// ToolPrefix is when the name of a tool or prompt has the name of its server as
// a prefix. It applies to mode Direct, and not to the server in status.unprefixedServer.
//
// +kubebuilder:validation:Enum=Always;Auto;Never
type ToolPrefix string

// The rules.
const (
	// ToolPrefixAlways prefixes every name.
	ToolPrefixAlways ToolPrefix = "Always"
	// ToolPrefixAuto prefixes names that more than one server uses.
	ToolPrefixAuto ToolPrefix = "Auto"
	// ToolPrefixNever adds a number to equal names.
	ToolPrefixNever ToolPrefix = "Never"
)

// StatusTool is when a bridge lists its own tool, which says what servers are out of
// service, and why. It applies to mode Direct and to more than one server.
//
// +kubebuilder:validation:Enum=Auto;Never
type StatusTool string

// The rules.
const (
	// StatusToolAuto lists the tool while a server is out of service.
	StatusToolAuto StatusTool = "Auto"
	// StatusToolNever does not list it.
	StatusToolNever StatusTool = "Never"
)

// DesiredState is whether a bridge should run.
//
// +kubebuilder:validation:Enum=Running;Suspended;OnDemand
type DesiredState string

// The desired states.
const (
	// StateRunning keeps the pod running.
	StateRunning DesiredState = "Running"
	// StateSuspended keeps the bridge's objects but runs no pod.
	StateSuspended DesiredState = "Suspended"
	// StateOnDemand stops the pod after spec.idleTimeout without use. The next call
	// starts it again.
	StateOnDemand DesiredState = "OnDemand"
)

// HostedBridgeSpec is the desired state of a bridge.
type HostedBridgeSpec struct {
	// userID is the user in the bridge's URL. It is unique in the installation and
	// immutable. The default is the object's name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')",message="userID must be 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	UserID UserID `json:"userID,omitempty"`

	// tier names one of the installation's tiers, which set quotas and limits.
	// +optional
	// +kubebuilder:default=free
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Tier string `json:"tier,omitempty"`

	// mode is how the bridge lists the tools of its servers.
	// +optional
	// +kubebuilder:default=Direct
	Mode Mode `json:"mode,omitempty"`

	// toolPrefix is when the name of a tool or prompt has the name of its server as
	// a prefix, in mode Direct. The server in status.unprefixedServer has no prefix.
	// +optional
	// +kubebuilder:default=Always
	ToolPrefix ToolPrefix `json:"toolPrefix,omitempty"`

	// toolNameLength is how long the name of a tool or prompt can be, in characters, if
	// the bridge has several servers. A longer name is cut and ends in a hash. Clients
	// put a prefix before names, and vendors of models accept 64 characters in all. The
	// default is 44.
	// +optional
	// +kubebuilder:validation:Minimum=32
	// +kubebuilder:validation:Maximum=64
	ToolNameLength *int32 `json:"toolNameLength,omitempty"`

	// statusTool is when the bridge lists its own tool bridge_status, which says what
	// servers are out of service, and why. The default is Auto: while there is such a
	// server.
	// +optional
	StatusTool StatusTool `json:"statusTool,omitempty"`

	// desiredState is whether the pod of the bridge runs.
	// +optional
	// +kubebuilder:default=OnDemand
	DesiredState DesiredState `json:"desiredState,omitempty"`

	// idleTimeout is how long a bridge with the desiredState OnDemand may be idle
	// before its pod stops. The next call wakes it. The operator's
	// --min-idle-timeout, by default a minute, is the shortest time that takes
	// effect.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('1s')",message="idleTimeout must be a duration of hours, minutes and seconds such as 15m or 1h30m, and at least 1s"
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// servers are the MCP servers behind the bridge.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="has(self.transport) != has(self.recipe)",message="a server has either transport, which says how it is reached, or recipe, by which the catalog does: set one of the two"
	Servers []Server `json:"servers,omitempty"`

	// secretRefs are Secrets of this namespace whose values the keybroker seals
	// for this user, and seals again when they change.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	SecretRefs []SecretRef `json:"secretRefs,omitempty"`

	// groups are the groups of this bridge's user, by which BridgeProfiles select it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Groups []string `json:"groups,omitempty"`

	// choices are what the user wants otherwise than the BridgeProfiles say, as far as
	// these allow it.
	// +optional
	Choices *Choices `json:"choices,omitempty"`

	// apiKeys are the keys of this bridge. Only their hashes are stored here.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	APIKeys []APIKey `json:"apiKeys,omitempty"`

	// oauth lists the people and programs that may use this bridge with a login in
	// place of a key.
	// +optional
	OAuth *OAuthAccess `json:"oauth,omitempty"`

	// resources are the requests and limits of the bridge's container. The default
	// is set by the installation.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// runtimeClassName is the RuntimeClass of the bridge's pod. The default is that
	// of the tier.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`

	// nodeSelector restricts the nodes on which the bridge's pod may run.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of the bridge's pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity of the bridge's pod.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
}

// Choices are what a user wants otherwise than a BridgeProfile says.
type Choices struct {
	// mode is how the bridge lists tools. The profile must allow the choice.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// toolPrefix is when tools have a prefix. The profile must allow the choice.
	// +optional
	ToolPrefix ToolPrefix `json:"toolPrefix,omitempty"`

	// idleTimeout is how long the bridge may be idle before it sleeps. The profile must
	// allow the choice, and a longer time than the profile's has no effect.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('1s')",message="idleTimeout must be a duration of hours, minutes and seconds such as 15m or 1h30m, and at least 1s"
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// servers are choices about servers of profiles.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Servers []ServerChoice `json:"servers,omitempty"`
}

// ServerChoice is a choice about one server of a profile.
type ServerChoice struct {
	// name is the server's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// use is On or Off. A required server stays on.
	// +optional
	// +kubebuilder:validation:Enum=On;Off
	Use string `json:"use,omitempty"`

	// deny lists tools of the server that the user does not want.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Deny []string `json:"deny,omitempty"`
}

// The values of ServerChoice.use.
const (
	ChoiceOn  = "On"
	ChoiceOff = "Off"
)

// SecretName is the name of a user's secret: that of an environment variable,
// such as GITHUB_TOKEN, or of a file, such as credentials.json.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Z][A-Z0-9_]{0,63}|[A-Za-z0-9_-]{1,62}([.][A-Za-z0-9_-]{1,62})+)$')",message="a secret's name must be 1 to 64 upper-case letters, digits or underscores beginning with a letter, such as GITHUB_TOKEN, or a file's name with a dot in it, such as credentials.json"
type SecretName string

// SecretRef names a Secret to be sealed for the bridge's user.
type SecretRef struct {
	// name is the Secret's name, in the HostedBridge's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// keys are the Secret's keys to seal. If empty, all keys are sealed, each under
	// its own name.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Keys []SecretRefKey `json:"keys,omitempty"`

	// deleteSource deletes the Secret after everything that is named here is sealed.
	// The sealed values stay when this entry is removed.
	// +optional
	DeleteSource bool `json:"deleteSource,omitempty"`
}

// SecretRefKey is one key of a Secret.
type SecretRefKey struct {
	// key is the key in the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`

	// as is the name of the user's secret that gets the value. The default is the
	// key.
	// +optional
	As SecretName `json:"as,omitempty"`
}

// APIKey is a key of a bridge, stored as a hash.
type APIKey struct {
	// id is the public part of the key: the <id> of hb_<id>_<secret>.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z]{8,32}$')",message="id must be the 8 to 32 letters and digits between the underscores of hb_<id>_<secret>"
	ID string `json:"id"`

	// hash is user-sha256: and the SHA-256 of the user id, a colon and the whole
	// key. It is valid only for this user's bridge, even if it is copied. The older
	// form, sha256: and the SHA-256 of the whole key, is valid too; if bridges of
	// several users have the same one, the URL must name the user.
	// +required
	// +kubebuilder:validation:MaxLength=76
	// +kubebuilder:validation:XValidation:rule="self.matches('^(user-)?sha256:[0-9a-f]{64}$')",message="hash must be user-sha256: and the 64 lower-case hex digits of the SHA-256 of <user id>:<key>, or sha256: and those of the whole key's, never the key itself"
	Hash string `json:"hash"`

	// expiresAt is when the key expires. If it is not set, the key works until it is
	// removed.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// name describes the purpose of the key, such as "laptop". The installation does
	// not use it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,61}[A-Za-z0-9])?$')",message="name must be 1 to 63 letters, digits, spaces, full stops, underscores or hyphens, beginning and ending with a letter or a digit"
	Name string `json:"name,omitempty"`
}

// OAuthAccess lists whose access tokens a bridge accepts.
type OAuthAccess struct {
	// subjects are the people and programs that may use this bridge. A subject can
	// be in several bridges.
	// +optional
	// +listType=map
	// +listMapKey=issuer
	// +listMapKey=subject
	// +kubebuilder:validation:MaxItems=32
	Subjects []OAuthSubject `json:"subjects,omitempty"`
}

// OAuthSubject is one person or program, as an identity provider names it.
type OAuthSubject struct {
	// issuer is the identity provider, exactly as the installation's
	// configuration and the iss of its tokens have it, such as
	// https://accounts.google.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != '' && (url(self).getScheme() == 'https' || url(self).getScheme() == 'http' && url(self).getHostname() in ['localhost', '127.0.0.1', '::1']) && !self.matches('[?#]|^[a-z]+://[^/]*@')",message="issuer must be an absolute https URL without credentials, query or fragment, such as https://accounts.google.com; http is for localhost, 127.0.0.1 and [::1] alone"
	Issuer string `json:"issuer"`

	// subject is the sub that the issuer gives to the person or program. It is not a
	// name or an address, because these can later belong to another person.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches(r'^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]+$')",message="subject must be 1 to 255 printable characters, as the issuer's tokens have them in sub"
	Subject string `json:"subject"`
}

// Phase summarizes the conditions for people. Programs read the conditions.
//
// +kubebuilder:validation:Enum=Pending;Running;Asleep;Suspended;Offboarded;Waking;Failed
type Phase string

// The phases.
const (
	// PhasePending: accepted, and the pod is not ready yet.
	PhasePending Phase = "Pending"
	// PhaseRunning: calls reach the pod.
	PhaseRunning Phase = "Running"
	// PhaseAsleep: no pod runs, because the bridge was not used. The next call wakes
	// it.
	PhaseAsleep Phase = "Asleep"
	// PhaseOffboarded: no pod runs, because the bridge's users are offboarded. The secrets
	// are destroyed after a time.
	PhaseOffboarded Phase = "Offboarded"
	// PhaseSuspended: no pod runs, because spec.desiredState is Suspended, or the access
	// of the bridge's users is. Calls are refused.
	PhaseSuspended Phase = "Suspended"
	// PhaseWaking: a call woke the bridge; its pod is starting, or waits for its
	// turn.
	PhaseWaking Phase = "Waking"
	// PhaseFailed: a person must change something; the conditions have the cause.
	PhaseFailed Phase = "Failed"
)

// HostedBridgeStatus is the last observed state of a bridge.
type HostedBridgeStatus struct {
	// observedGeneration is the generation of the spec that the operator last
	// acted on. It is -1 before, so that no tool takes a new bridge for a ready one.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Accepted, SecretsSealed, WorkloadAvailable, NetworkIsolated and
	// Ready. Stable is there only if the bridge's process ended repeatedly. Stalled is
	// there if the bridge failed, and Reconciling if it is not Ready yet.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase summarizes the conditions in one word.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// userID is the user in effect: spec.userID or the object's name.
	// +optional
	UserID UserID `json:"userID,omitempty"`

	// defaultToolNameLength is the toolNameLength of this bridge if its spec has none. It
	// stays as it is if a later release has another default. The operator writes it.
	// +optional
	DefaultToolNameLength *int32 `json:"defaultToolNameLength,omitempty"`

	// unprefixedServer is the server whose tools and prompts keep their own names: the one
	// that was the bridge's only server when it came. Servers that come later get a prefix
	// by spec.toolPrefix, also when they are left alone. It is empty if several servers
	// came together, and not set while the bridge has none. The operator writes it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	UnprefixedServer *string `json:"unprefixedServer,omitempty"`

	// tier is the tier in effect: that of the first profile that has one, or spec.tier.
	// +optional
	Tier string `json:"tier,omitempty"`

	// profiles are the BridgeProfiles that select the bridge, in the order in which they
	// decide. The operator writes them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Profiles []ProfileUse `json:"profiles,omitempty"`

	// effective is what the profiles change of the spec. It is not set if no profile
	// selects the bridge. The operator writes it.
	// +optional
	Effective *EffectiveSettings `json:"effective,omitempty"`

	// access is set while the bridge's users have no access, as BridgePersons say. The
	// operator writes it.
	// +optional
	Access *BridgeAccess `json:"access,omitempty"`

	// url is the URL that the user pastes into an MCP client.
	// +optional
	URL string `json:"url,omitempty"`

	// podName is the name of the bridge's pod.
	// +optional
	PodName string `json:"podName,omitempty"`

	// configuration is a digest of the configuration that the bridge runs by, or would run
	// by. Lists that a bridge gave with another configuration are not given again while it
	// sleeps. The operator writes it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Configuration string `json:"configuration,omitempty"`

	// keyVersion is the lowest version of the master key that seals any of the
	// bridge's secrets. It is not set if the bridge has no secrets. The keybroker
	// writes it.
	// +optional
	KeyVersion *int32 `json:"keyVersion,omitempty"`

	// secrets is the state of the bridge's secrets. The keybroker writes it.
	// +optional
	Secrets *SecretsStatus `json:"secrets,omitempty"`

	// recipes are the states of the recipes in spec.servers. The operator writes
	// them.
	// +optional
	// +listType=map
	// +listMapKey=server
	// +kubebuilder:validation:MaxItems=64
	Recipes []RecipeStatus `json:"recipes,omitempty"`

	// terminations are the last times that the bridge's process ended although nobody
	// asked it to, within an hour, the oldest first. The operator writes them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Terminations []Termination `json:"terminations,omitempty"`

	// outages are the servers that the operator took out of service because the
	// bridge's process ended repeatedly while it handled them. The operator writes
	// them.
	// +optional
	// +listType=map
	// +listMapKey=server
	// +kubebuilder:validation:MaxItems=64
	Outages []ServerOutage `json:"outages,omitempty"`

	// servers is the number of servers that answer and of all servers, such as
	// "2/3". The ingress writes it.
	// +optional
	Servers string `json:"servers,omitempty"`

	// serverStates are the states of the servers in spec.servers, as the bridge last
	// reported them. They stay while the bridge sleeps. The ingress writes them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ServerStates []ServerState `json:"serverStates,omitempty"`

	// tools is the number of tools that the bridge offers. The ingress writes it.
	// +optional
	Tools *int32 `json:"tools,omitempty"`

	// collisions are names of tools or prompts that several servers use and that are
	// not distinguished by a prefix, such as tool "search": github, jira. The
	// ingress writes it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Collisions []string `json:"collisions,omitempty"`

	// lastActivityTime is when the bridge was last used: a call or an answer passed,
	// or a started task ran. While the bridge is in use, the time is late by up to a
	// quarter of spec.idleTimeout, and by 5 minutes at most; afterwards it is exact
	// to a second. The ingress writes it.
	// +optional
	LastActivityTime *metav1.Time `json:"lastActivityTime,omitempty"`

	// idleSince is set while the bridge sleeps. It is the time since when the bridge
	// was idle. A later lastActivityTime wakes the bridge. The operator writes it.
	// +optional
	IdleSince *metav1.Time `json:"idleSince,omitempty"`

	// keys is when each key of spec.apiKeys was last used, with a precision of some
	// minutes. Keys that were never used are left out. The ingress writes it.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	Keys []APIKeyStatus `json:"keys,omitempty"`

	// visits are the user's last visits to the console, with what there was to see of the
	// servers, so that the console can say what has changed since. The ingress writes them,
	// at most once an hour.
	// +optional
	Visits *Visits `json:"visits,omitempty"`
}

// Visits are the last visits of a user.
type Visits struct {
	// last is the last visit, which lasts an hour.
	// +required
	Last Visit `json:"last"`

	// before is the visit before that. It is not set for a first visit.
	// +optional
	Before *Visit `json:"before,omitempty"`
}

// Visit is what there was to see when a visit began.
type Visit struct {
	// time is when the visit began.
	// +required
	Time metav1.Time `json:"time"`

	// servers are the servers of the bridge, and those that its profiles offered.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Servers []SeenServer `json:"servers,omitempty"`
}

// SeenServer is a server at a visit. What was not known of it then, such as the tools of a
// server that was asleep, is as at the visit before.
type SeenServer struct {
	// name is the name of the server.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// state is On, or Offered for a server that a profile offers and the bridge does not have.
	// +required
	// +kubebuilder:validation:Enum=On;Offered
	State string `json:"state"`

	// needs is what the server waited for: Secret or Account.
	// +optional
	// +kubebuilder:validation:Enum=Secret;Account
	Needs string `json:"needs,omitempty"`

	// digest is of the names of the server's tools. It is not set if they were never known.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Digest string `json:"digest,omitempty"`

	// tools are the server's own names of its tools. They are not set if there are too many.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=256
	Tools []string `json:"tools,omitempty"`
}

// The states of a SeenServer, and what it may need.
const (
	SeenOn       = "On"
	SeenOffered  = "Offered"
	NeedsSecret  = "Secret"
	NeedsAccount = "Account"
)

// BridgeAccess is why nobody may use a bridge.
type BridgeAccess struct {
	// state is Suspended or Offboarded.
	// +required
	// +kubebuilder:validation:Enum=Suspended;Offboarded
	State Access `json:"state"`

	// since is when the operator noticed it.
	// +required
	Since metav1.Time `json:"since"`
}

// ProfileUse is a BridgeProfile that selects a bridge.
type ProfileUse struct {
	// name is the profile's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid is the profile's UID.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`

	// generation is the revision of the profile that the bridge has.
	// +required
	Generation int64 `json:"generation"`

	// since is when the bridge got the revision.
	// +required
	Since metav1.Time `json:"since"`
}

// EffectiveSettings are the fields of a spec that profiles decide. A field that is not
// set is as in the spec.
type EffectiveSettings struct {
	// tier is the tier.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Tier string `json:"tier,omitempty"`

	// mode is how the bridge lists tools.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// toolPrefix is when tools have a prefix.
	// +optional
	ToolPrefix ToolPrefix `json:"toolPrefix,omitempty"`

	// idleTimeout is how long the bridge may be idle before it sleeps.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// runtimeClassName is the RuntimeClass of the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// servers are the servers of the profiles.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Servers []EffectiveServer `json:"servers,omitempty"`

	// leftOut are servers of spec.servers for which the tier has no room beside those
	// that profiles require.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	LeftOut []string `json:"leftOut,omitempty"`

	// conflicts are fields about which profiles of equal priority disagree.
	// +optional
	// +listType=map
	// +listMapKey=field
	// +kubebuilder:validation:MaxItems=128
	Conflicts []ProfileConflict `json:"conflicts,omitempty"`
}

// ProfileConflict is a field about which profiles of equal priority disagree. The first
// one decides it.
type ProfileConflict struct {
	// field is the field, such as tier or servers[github].
	// +required
	// +kubebuilder:validation:MaxLength=64
	Field string `json:"field"`

	// profiles are the names of the profiles, the deciding one first.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Profiles []string `json:"profiles"`
}

// EffectiveServer is a server of a profile.
type EffectiveServer struct {
	// name is the server's name.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// profile is the name of the profile.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Profile string `json:"profile"`

	// use is Required, Default, Optional or OnRequest.
	// +required
	Use ServerUse `json:"use"`

	// recipe is the name of the server's recipe. It is not set for a server without a
	// recipe.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Recipe string `json:"recipe,omitempty"`

	// recipeVersion is the version of the recipe that the profile names. It is not set for
	// a server that follows the latest version.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RecipeVersion string `json:"recipeVersion,omitempty"`

	// reason says why the bridge does not have the server, or does not follow a choice:
	// Off, Shadowed by a server of the same name in the spec, NoRoom in the tier,
	// NotApproved for a server that the user has to ask for, OfferChanged for one whose
	// approval was for another offer, UnknownShared or NotMember of a SharedServer, or
	// ChoiceIgnored.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// source is the server as JSON, in the form of spec.servers. It is not set if the
	// bridge does not have the server.
	// +optional
	// +kubebuilder:validation:MaxLength=131072
	Source string `json:"source,omitempty"`

	// shared is the SharedServer whose secrets the server uses.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Shared string `json:"shared,omitempty"`

	// offer is what the profile offers, if use is OnRequest: the recipe, URL, package, image
	// or SharedServer. An approval is for one offer.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Offer string `json:"offer,omitempty"`
}

// The reasons of EffectiveServer, beside ReasonUnknownShared.
const (
	ReasonNotMember      = "NotMember"
	ReasonServerOff      = "Off"
	ReasonServerShadowed = "Shadowed"
	ReasonServerNoRoom   = "NoRoom"
	ReasonNotApproved    = "NotApproved"
	ReasonOfferChanged   = "OfferChanged"
	ReasonChoiceIgnored  = "ChoiceIgnored"
)

// ServerState is the state of one server.
type ServerState struct {
	// name is the name of the server in spec.servers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// from is the name of the server's recipe. It is not set for a server without a
	// recipe.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	From string `json:"from,omitempty"`

	// profile is the BridgeProfile that gives the server, and use how. They are not set
	// for a server of the spec.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Profile string `json:"profile,omitempty"`
	// +optional
	Use ServerUse `json:"use,omitempty"`

	// state is Healthy, Unhealthy or Connecting.
	// +required
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Connecting
	State string `json:"state"`

	// reason is the cause in one word, if the server is not healthy.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is the cause in a sentence. It names secrets and never has their values.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// since is when the state began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// tools is the number of the server's tools.
	// +optional
	Tools int32 `json:"tools,omitempty"`
}

// APIKeyStatus is the observed use of one key.
type APIKeyStatus struct {
	// id is the id of the key in spec.apiKeys.
	// +required
	// +kubebuilder:validation:MaxLength=32
	ID string `json:"id"`

	// lastUsedTime is when a request last presented the key.
	// +required
	LastUsedTime metav1.Time `json:"lastUsedTime"`
}

// Termination is one end of a bridge's process.
type Termination struct {
	// time is when the process ended, by the clock of its node.
	// +required
	Time metav1.Time `json:"time"`

	// reason is the kubelet's reason, such as OOMKilled, or Error for another exit code
	// than 0.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// server is the server that the process had noted as the likely cause. It is not
	// set if there was none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Server string `json:"server,omitempty"`
}

// ServerOutage says that a server is out of service because the bridge's process
// ended while it handled the server, or was so a short time ago.
type ServerOutage struct {
	// server is the name of the server in spec.servers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Server string `json:"server"`

	// until is when the server is in service again. Earlier ends of the process do not
	// count any more.
	// +required
	Until metav1.Time `json:"until"`

	// times is how often in a row the server was taken out of service. Each time takes
	// twice as long as the one before. It is 0 after a change of the server.
	// +optional
	Times int32 `json:"times,omitempty"`

	// message explains why the server is out of service. It is not set while the server
	// is in service.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// configuration is a digest of the server's configuration and of spec.resources.
	// With another one the server is in service again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Configuration string `json:"configuration,omitempty"`
}

// RecipeStatus is the state of a server's recipe.
type RecipeStatus struct {
	// server is the name of the server in spec.servers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Server string `json:"server"`

	// recipe is the recipe's id.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Recipe string `json:"recipe"`

	// version is the version in use, and digest is its digest. While the recipe puts
	// the server out of service, both are empty, and so are all fields from the
	// recipe.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// digest is the digest of the version in use.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest,omitempty"`

	// reason is the state of the recipe in one word, and message explains it in a
	// sentence.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message explains the reason in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// secrets are the names of the user's secrets that the server may use.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=64
	Secrets []string `json:"secrets,omitempty"`

	// tokenSecret is the secret with the tokens of a login. The bridge writes it
	// again when it refreshes the tokens.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TokenSecret string `json:"tokenSecret,omitempty"`

	// credentialsURL is where the user gets them.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	CredentialsURL string `json:"credentialsURL,omitempty"`

	// source is the recipe's description of the server, as JSON in the format of a
	// bridge's configuration, without a name and secrets. The server keeps it if the
	// catalog no longer has the version.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Source string `json:"source,omitempty"`

	// uid is the UID of the recipe's object, and owner is the recipe's owner. The
	// server does not follow another owner's recipe of the same name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// owner is the recipe's owner. The server does not follow another owner's recipe.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// place is where the server is: the origins of its URLs, or the package of its
	// program and the origins that are passed to the program. A server does not
	// follow a version at another place.
	// +optional
	// +kubebuilder:validation:MaxLength=4608
	Place string `json:"place,omitempty"`

	// last is the state of the server before it went out of service, if it was ever
	// in service. Later versions are compared with it.
	// +optional
	Last *LastRecipe `json:"last,omitempty"`
}

// LastRecipe is the state of a server under a version of its recipe.
type LastRecipe struct {
	// version and digest identify the version.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`
	// digest is the digest of the version.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`

	// uid is that of the recipe's object, and owner the recipe's owner.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// owner is the recipe's owner.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// place is where the server was.
	// +optional
	// +kubebuilder:validation:MaxLength=4608
	Place string `json:"place,omitempty"`

	// secrets are the names of the user's secrets that the server could use, and
	// tokenSecret is the secret with the tokens of a login.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=64
	Secrets []string `json:"secrets,omitempty"`
	// tokenSecret is the secret with the tokens of a login.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TokenSecret string `json:"tokenSecret,omitempty"`

	// credentialsURL is where the user gets them.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	CredentialsURL string `json:"credentialsURL,omitempty"`

	// source is the recipe's description of the server. It is not set if the server
	// must not run with it again.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Source string `json:"source,omitempty"`
}

// SecretsStatus is the state of a bridge's secrets. It holds no value and
// nothing that is derived from one.
type SecretsStatus struct {
	// observedGeneration is the generation of the spec whose secretRefs and
	// servers this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedRecipes identifies the secrets of status.recipes that this status
	// describes. It is empty if no recipe names a secret.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ObservedRecipes string `json:"observedRecipes,omitempty"`

	// count is the number of sealed secrets.
	// +optional
	Count int32 `json:"count"`

	// revision changes when a secret is set or removed. A bridge's pod with another
	// revision fetches its secrets again.
	// +optional
	Revision string `json:"revision,omitempty"`

	// missing are the secrets that spec.servers needs and that are not set.
	// +optional
	// +listType=set
	Missing []string `json:"missing,omitempty"`

	// retainedUntil is when the secrets of a bridge are destroyed whose users are
	// offboarded.
	// +optional
	RetainedUntil *metav1.Time `json:"retainedUntil,omitempty"`

	// destroyedTime is when these secrets were destroyed: neither they nor the salt
	// without which a copy of them cannot be opened are stored.
	// +optional
	DestroyedTime *metav1.Time `json:"destroyedTime,omitempty"`

	// failures are the secretRefs that could not be sealed, and the sealed secrets
	// that cannot be opened.
	// +optional
	// +listType=map
	// +listMapKey=name
	Failures []SecretFailure `json:"failures,omitempty"`
}

// SecretFailure is why a Secret of spec.secretRefs is not sealed, or why a
// sealed secret cannot be opened.
type SecretFailure struct {
	// name is the name of the Secret in spec.secretRefs, or of the user's secret
	// that cannot be opened.
	// +required
	Name string `json:"name"`

	// reason is one of the reasons of the SecretsSealed condition.
	// +required
	Reason string `json:"reason"`

	// message describes the problem and the solution.
	// +optional
	Message string `json:"message,omitempty"`
}
