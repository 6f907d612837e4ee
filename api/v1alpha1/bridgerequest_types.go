// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BridgeRequest is what a user asks for, and what an administrator answered: a server that a
// BridgeProfile offers on request. It has an effect in the installation's namespace alone, under
// the name RequestName. While it is approved, the user may turn the server on.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=hbr,categories=hosted-bridge
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.server`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.spec.decision.verdict`
// +kubebuilder:printcolumn:name="Offer",type=string,JSONPath=`.spec.offer`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BridgeRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the request and its answer.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.user == oldSelf.user && self.bridgeUID == oldSelf.bridgeUID && self.server == oldSelf.server && self.offer == oldSelf.offer",message="a BridgeRequest stays one of the same user, bridge, server and offer: delete it and create another one"
	Spec BridgeRequestSpec `json:"spec"`
}

// BridgeRequestList is a list of BridgeRequests.
//
// +kubebuilder:object:root=true
type BridgeRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BridgeRequest `json:"items"`
}

// BridgeRequestSpec is a request and its answer.
type BridgeRequestSpec struct {
	// user is the user id of the user who asks.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')",message="user must be 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	User UserID `json:"user"`

	// bridgeUID is the metadata.uid of the user's HostedBridge. The request has no effect
	// for another HostedBridge that gets the user id later.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	BridgeUID types.UID `json:"bridgeUID"`

	// server is the name of a server that a BridgeProfile offers on request.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$')",message="server must be 1 to 32 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	Server string `json:"server"`

	// offer is what the BridgeProfile offered under this name when the user asked, as in
	// status.effective.servers[].offer of the HostedBridge: the recipe, URL, package, image
	// or SharedServer. An approval has no effect while the BridgeProfile offers something
	// else.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Offer string `json:"offer"`

	// reason is why the user asks, in their own words.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	Reason string `json:"reason,omitempty"`

	// decision is the answer. It is not set while the request is open.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.verdict == 'Approved' || has(self.reason) && self.reason != ''",message="a request is refused with a reason, which the user reads"
	Decision *RequestDecision `json:"decision,omitempty"`
}

// RequestDecision is an answer to a request.
type RequestDecision struct {
	// verdict is Approved or Refused.
	// +required
	Verdict RequestVerdict `json:"verdict"`

	// reason is what the user reads of it. A refusal needs one.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	Reason string `json:"reason,omitempty"`

	// time is when the request was answered.
	// +optional
	Time metav1.Time `json:"time,omitzero"`
}

// RequestVerdict is Approved or Refused.
//
// +kubebuilder:validation:Enum=Approved;Refused
type RequestVerdict string

// The verdicts.
const (
	RequestApproved RequestVerdict = "Approved"
	RequestRefused  RequestVerdict = "Refused"
)

// RequestName returns the name of the BridgeRequest of a user for a server. Neither has a dot.
func RequestName(user UserID, server string) string { return string(user) + "." + server }
