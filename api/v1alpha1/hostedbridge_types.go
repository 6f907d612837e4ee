// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedBridge is one user's MCP bridge: a pod of their own behind
// /u/<userID>/mcp.
//
// +kubebuilder:object:root=true
// +kubebuilder:ac:generate=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hb,categories=hosted-bridge
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.status.userID`
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.spec.tier`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.tools`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Last-Active",type=date,JSONPath=`.status.lastActivityTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Servers",type=string,priority=1,JSONPath=`.status.servers`
// +kubebuilder:printcolumn:name="Key-Version",type=integer,priority=1,JSONPath=`.status.keyVersion`
// +kubebuilder:printcolumn:name="Pod",type=string,priority=1,JSONPath=`.status.podName`
// +kubebuilder:validation:XValidation:rule="has(self.spec.userID) || self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')",message="spec.userID is not set and metadata.name is not a user id: set spec.userID to 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.userID) ? self.spec.userID : self.metadata.name) == (has(oldSelf.spec.userID) ? oldSelf.spec.userID : oldSelf.metadata.name)",message="spec.userID is immutable: a bridge's secrets belong to its user; delete this HostedBridge and create one for the other user"
type HostedBridge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the bridge should be.
	// +optional
	Spec HostedBridgeSpec `json:"spec,omitempty"`

	// status is what was last seen of the bridge.
	// +optional
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

// Mode is how a bridge shows its upstreams' tools.
//
// +kubebuilder:validation:Enum=Direct;Router
type Mode string

// The modes.
const (
	// ModeDirect lists every upstream tool.
	ModeDirect Mode = "Direct"
	// ModeRouter lists one tool, by which the others are found and called.
	ModeRouter Mode = "Router"
)

// ToolPrefix is when the name of a tool or prompt carries its server's, in mode
// Direct and where there is more than one server.
//
// +kubebuilder:validation:Enum=Always;Auto;Never
type ToolPrefix string

// The rules.
const (
	// ToolPrefixAlways prefixes every name.
	ToolPrefixAlways ToolPrefix = "Always"
	// ToolPrefixAuto prefixes the names that more than one server has.
	ToolPrefixAuto ToolPrefix = "Auto"
	// ToolPrefixNever tells equal names apart by a number.
	ToolPrefixNever ToolPrefix = "Never"
)

// DesiredState is whether a bridge should run.
//
// +kubebuilder:validation:Enum=Running;Suspended;OnDemand
type DesiredState string

// The desired states.
const (
	// StateRunning keeps the pod running.
	StateRunning DesiredState = "Running"
	// StateSuspended keeps the bridge's objects and runs no pod.
	StateSuspended DesiredState = "Suspended"
	// StateOnDemand runs the pod until it has not been used for
	// spec.idleTimeout, and again from the next call on.
	StateOnDemand DesiredState = "OnDemand"
)

// HostedBridgeSpec is what a bridge should be.
type HostedBridgeSpec struct {
	// userID is the :userId of the bridge's URL. It is unique in the
	// installation and cannot be changed; where it is not set it is the
	// object's name.
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

	// mode is how the bridge shows its upstreams' tools.
	// +optional
	// +kubebuilder:default=Direct
	Mode Mode `json:"mode,omitempty"`

	// toolPrefix is when the name of a tool or prompt carries its server's, in
	// mode Direct. With one server no name ever does.
	// +optional
	// +kubebuilder:default=Always
	ToolPrefix ToolPrefix `json:"toolPrefix,omitempty"`

	// desiredState is whether the bridge should run.
	// +optional
	// +kubebuilder:default=OnDemand
	DesiredState DesiredState `json:"desiredState,omitempty"`

	// idleTimeout is how long a bridge whose desiredState is OnDemand may be
	// unused before its pod ends. The next call wakes it. The operator counts
	// what is shorter than its --min-idle-timeout, a minute, as that.
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
	Servers []Server `json:"servers,omitempty"`

	// secretRefs are Secrets of this namespace whose values the keybroker seals
	// for this user, and seals again when they change.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	SecretRefs []SecretRef `json:"secretRefs,omitempty"`

	// apiKeys are the keys that open this bridge. Only their hashes are here.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	APIKeys []APIKey `json:"apiKeys,omitempty"`

	// oauth says who may use this bridge by a login instead of a key.
	// +optional
	OAuth *OAuthAccess `json:"oauth,omitempty"`

	// resources are the requests and limits of the bridge's container. Where
	// they are not set the installation's defaults hold.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// runtimeClassName is the RuntimeClass of the bridge's pod. Where it is not
	// set, that of the tier holds.
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

	// keys are the Secret's keys to seal. Where there are none all are, each
	// as the secret of its own name.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Keys []SecretRefKey `json:"keys,omitempty"`

	// deleteSource deletes the Secret once everything that is named here is
	// sealed. What was sealed then stays when this entry is removed.
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

	// as is the name of the user's secret that the value becomes. Where it is
	// not set it is the key.
	// +optional
	As SecretName `json:"as,omitempty"`
}

// APIKey is a key that opens a bridge, by its hash.
type APIKey struct {
	// id is the public part of the key: the <id> of hb_<id>_<secret>.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z]{8,32}$')",message="id must be the 8 to 32 letters and digits between the underscores of hb_<id>_<secret>"
	ID string `json:"id"`

	// hash is the SHA-256 of the whole key.
	// +required
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="hash must be sha256: and the 64 lower-case hex digits of the whole key's SHA-256, never the key itself"
	Hash string `json:"hash"`

	// expiresAt is when the key stops working. Where it is not set the key
	// works until it is removed.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// name says what the key is for, such as "laptop". It means nothing to the
	// installation.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,61}[A-Za-z0-9])?$')",message="name must be 1 to 63 letters, digits, spaces, full stops, underscores or hyphens, beginning and ending with a letter or a digit"
	Name string `json:"name,omitempty"`
}

// OAuthAccess says whose access tokens open a bridge.
type OAuthAccess struct {
	// subjects are the people and programs that may use this bridge. One of
	// them may be in several bridges.
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

	// subject is the sub that the issuer gives to the person or program. It is
	// not a name or an address: those can become somebody else's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches(r'^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]+$')",message="subject must be 1 to 255 printable characters, as the issuer's tokens have them in sub"
	Subject string `json:"subject"`
}

// Phase sums a bridge up in one word, for the eye. Programs read conditions.
//
// +kubebuilder:validation:Enum=Pending;Running;Suspended;Waking;Failed
type Phase string

// The phases.
const (
	// PhasePending: accepted, and the pod is not ready yet.
	PhasePending Phase = "Pending"
	// PhaseRunning: calls reach the pod.
	PhaseRunning Phase = "Running"
	// PhaseSuspended: no pod, as desired, or because the bridge is not used.
	PhaseSuspended Phase = "Suspended"
	// PhaseWaking: a bridge that slept was called; its pod is on its way, or
	// waits for its turn.
	PhaseWaking Phase = "Waking"
	// PhaseFailed: nothing will happen until somebody changes something; the
	// conditions say what.
	PhaseFailed Phase = "Failed"
)

// HostedBridgeStatus is what was last seen of a bridge.
type HostedBridgeStatus struct {
	// observedGeneration is the generation of the spec that the operator last
	// acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Accepted, SecretsSealed, WorkloadAvailable and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase sums the conditions up in one word.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// userID is the user in effect: spec.userID or the object's name.
	// +optional
	UserID UserID `json:"userID,omitempty"`

	// url is what the user pastes into an MCP client.
	// +optional
	URL string `json:"url,omitempty"`

	// podName is the bridge's pod.
	// +optional
	PodName string `json:"podName,omitempty"`

	// keyVersion is the lowest version of the master key under which any of
	// the bridge's secrets is sealed. It is not set while there are none. The
	// keybroker writes it.
	// +optional
	KeyVersion *int32 `json:"keyVersion,omitempty"`

	// secrets is what the keybroker reports of the bridge's secrets. The
	// keybroker writes it.
	// +optional
	Secrets *SecretsStatus `json:"secrets,omitempty"`

	// recipes are what the recipes of spec.servers come to. The operator writes
	// them.
	// +optional
	// +listType=map
	// +listMapKey=server
	// +kubebuilder:validation:MaxItems=64
	Recipes []RecipeStatus `json:"recipes,omitempty"`

	// servers is how many of the bridge's servers answer, of how many: "2/3".
	// The ingress writes it.
	// +optional
	Servers string `json:"servers,omitempty"`

	// tools is how many tools the bridge offers. The ingress writes it.
	// +optional
	Tools *int32 `json:"tools,omitempty"`

	// collisions are the names that several servers give to a tool or a prompt
	// and that a rule other than their prefix tells apart, such as
	// tool "search": github, jira. The ingress writes it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Collisions []string `json:"collisions,omitempty"`

	// lastActivityTime is when the bridge was last used: called, answering, or
	// busy with something that was begun. While it is in use the time is late by
	// up to a quarter of spec.idleTimeout, and by 5 minutes at most; afterwards
	// it is exact to a second. The ingress writes it.
	// +optional
	LastActivityTime *metav1.Time `json:"lastActivityTime,omitempty"`

	// idleSince is set while the bridge sleeps, and is since when it had not
	// been used. A lastActivityTime after it wakes the bridge. The operator
	// writes it.
	// +optional
	IdleSince *metav1.Time `json:"idleSince,omitempty"`

	// keys is when each of spec.apiKeys was last used, to within some minutes.
	// Keys that were not used since they were made are not here. The ingress
	// writes it.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	Keys []APIKeyStatus `json:"keys,omitempty"`
}

// APIKeyStatus is what was seen of one key.
type APIKeyStatus struct {
	// id is that of the key in spec.apiKeys.
	// +required
	// +kubebuilder:validation:MaxLength=32
	ID string `json:"id"`

	// lastUsedTime is when a request last presented the key.
	// +required
	LastUsedTime metav1.Time `json:"lastUsedTime"`
}

// RecipeStatus is what a server's recipe comes to.
type RecipeStatus struct {
	// server is the name of the server in spec.servers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Server string `json:"server"`

	// recipe is the recipe's id.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Recipe string `json:"recipe"`

	// version is the one that is in use, with its digest. While the server is out
	// of service for its recipe both are empty, and so is all that a recipe says.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest,omitempty"`

	// reason is one word for what the recipe is, and message says it in a
	// sentence.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// secrets are the names of the user's secrets that the server may use.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=64
	Secrets []string `json:"secrets,omitempty"`

	// tokenSecret is the one of them with the tokens of a login, which the bridge
	// writes anew when it has refreshed them.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TokenSecret string `json:"tokenSecret,omitempty"`

	// credentialsURL is where the user gets them.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	CredentialsURL string `json:"credentialsURL,omitempty"`

	// source is what the recipe says of the server, as JSON. The server keeps it
	// when the catalog does not have the version any more.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Source string `json:"source,omitempty"`

	// uid is that of the recipe's object, and owner the recipe's owner. Another
	// recipe of the same name, by somebody else, is not followed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// place is where the server is: the origins of its URLs, or the package that
	// is its program and the origins that it is told. A version of another place
	// is not followed.
	// +optional
	// +kubebuilder:validation:MaxLength=4608
	Place string `json:"place,omitempty"`

	// last is what the server was before it went out of service, if it ever was
	// in service. Later versions are held against it.
	// +optional
	Last *LastRecipe `json:"last,omitempty"`
}

// LastRecipe is what a server was by a version of its recipe.
type LastRecipe struct {
	// version and digest are those of the version.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`

	// uid is that of the recipe's object, and owner the recipe's owner.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// place is where the server was.
	// +optional
	// +kubebuilder:validation:MaxLength=4608
	Place string `json:"place,omitempty"`

	// secrets are the names of the user's secrets that it could use, and
	// tokenSecret the one of them with the tokens of a login.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=64
	Secrets []string `json:"secrets,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TokenSecret string `json:"tokenSecret,omitempty"`

	// credentialsURL is where the user gets them.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	CredentialsURL string `json:"credentialsURL,omitempty"`

	// source is what the recipe said of the server. It is not set where the
	// server must not run by it again.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Source string `json:"source,omitempty"`
}

// SecretsStatus is what there is of a bridge's secrets. It holds no value and
// nothing that was made of one.
type SecretsStatus struct {
	// observedGeneration is the generation of the spec whose secretRefs and
	// servers this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedRecipes tells the secrets of status.recipes that this is about from
	// others. It is empty where no recipe names any.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ObservedRecipes string `json:"observedRecipes,omitempty"`

	// count is how many secrets are sealed.
	// +optional
	Count int32 `json:"count,omitempty"`

	// revision changes when a secret is set or removed. A bridge's pod that
	// has another one fetches its secrets again.
	// +optional
	Revision string `json:"revision,omitempty"`

	// missing are the secrets that spec.servers name and nobody has set.
	// +optional
	// +listType=set
	Missing []string `json:"missing,omitempty"`

	// failures are the secretRefs that are not sealed as they should be, and
	// sealed secrets that do not open.
	// +optional
	// +listType=map
	// +listMapKey=name
	Failures []SecretFailure `json:"failures,omitempty"`
}

// SecretFailure is why a Secret of spec.secretRefs is not sealed, or a sealed
// secret does not open.
type SecretFailure struct {
	// name is the Secret's name in spec.secretRefs, or the user's secret that
	// does not open.
	// +required
	Name string `json:"name"`

	// reason is one of the reasons of the SecretsSealed condition.
	// +required
	Reason string `json:"reason"`

	// message says what is wrong and what would be right.
	// +optional
	Message string `json:"message,omitempty"`
}
