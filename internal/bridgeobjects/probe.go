// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Names of the probe of network policies: two pods. The policy selects one of them
// by its component. They are always the same, so that what an operator
// leaves that dies is found by the next.
const (
	ProbePolicyName = "hosted-bridge-probe"
	ProbeOpen       = "hosted-bridge-probe-open"
	ProbeDenied     = "hosted-bridge-probe-denied"

	componentProbe  = "probe"
	componentDenied = "probe-denied"
)

// probeSeconds is when a pod of the probe is ended by its node, whoever forgets
// it: many times what it takes.
const probeSeconds = 120

// Probe is what the pods of the probe depend on.
type Probe struct {
	// Namespace is the installation's own, and Image that of the bridge.
	Namespace, Image string
	// Address is the URL at which the operator answers.
	Address string
	// PodName and PodUID are the operator's own pod, with which they go.
	PodName string
	PodUID  types.UID
}

// ProbePods returns the pod that may connect and the one that a policy forbids
// it. Apart from that they are the same.
func ProbePods(p Probe) (open, denied *corev1.Pod) {
	return probePod(p, ProbeOpen, componentProbe), probePod(p, ProbeDenied, componentDenied)
}

func probePod(p Probe, name, kind string) *corev1.Pod {
	labels := component(kind)
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedByValue
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         ptr.To[int64](probeSeconds),
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			SecurityContext:               restrictedPod(),
			Containers: []corev1.Container{{
				Name: "probe", Image: p.Image, ImagePullPolicy: corev1.PullIfNotPresent,
				Args:            []string{"reach", "--address=" + p.Address},
				Resources:       corev1.ResourceRequirements{Requests: defaultRequests, Limits: defaultLimits},
				SecurityContext: restrictedContainer(),
			}},
		},
	}
	if p.PodName != "" && p.PodUID != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.PodName, UID: p.PodUID}}
	}
	return pod
}

// restrictedPod and restrictedContainer are for objects that are created and not applied.
func restrictedPod() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: ptr.To[int64](user), RunAsGroup: ptr.To[int64](user),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func restrictedContainer() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
