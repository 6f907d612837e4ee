// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// user is the unprivileged user of the project's images.
	user = 65532
	// gracePeriodSeconds is how long a bridge may take to finish the answers
	// it is giving, which is 21 s at most.
	gracePeriodSeconds = 30
	// stdioGraceSeconds is what servers over stdio add, which end after the
	// bridge: a program is asked to end and then killed within 12 s.
	stdioGraceSeconds = 15
	// revisions that a Deployment keeps: one is enough for `kubectl rollout
	// undo`, and each is an object in a namespace that may hold thousands.
	revisions = 1
)

func deployment(b *effective.Bridge, p bridgestate.Plan, s Settings) (*appsv1ac.DeploymentApplyConfiguration, error) {
	pod, err := podSpec(b, p, s)
	if err != nil {
		return nil, err
	}
	replicas := int32(0)
	if p.Action == bridgestate.Run {
		replicas = 1
	}
	template := corev1ac.PodTemplateSpec().
		WithLabels(labels(b)).
		WithAnnotations(map[string]string{
			v1alpha1.AnnotationBridgeUID: string(b.UID),
			v1alpha1.AnnotationUserID:    string(b.User()),
		}).
		WithSpec(pod)
	return appsv1ac.Deployment(v1alpha1.WorkloadName(b.Name), b.Namespace).
		WithLabels(labels(b)).
		WithOwnerReferences(owner(b)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas).
			WithRevisionHistoryLimit(revisions).
			// Two pods of one user would each hold half of the sessions.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(b))).
			WithTemplate(template)), nil
}

// podSpec returns a pod that the restricted Pod Security Standard admits.
func podSpec(b *effective.Bridge, p bridgestate.Plan, s Settings) (*corev1ac.PodSpecApplyConfiguration, error) {
	spec := corev1ac.PodSpec().
		WithServiceAccountName(v1alpha1.WorkloadName(b.Name)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(gracePeriodSeconds).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(user).
			WithRunAsGroup(user).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(container(b, p, s)).
		WithVolumes(bridgeVolume(b))
	if s.PriorityClass != "" {
		spec.WithPriorityClassName(s.PriorityClass)
	}
	addStdio(spec, b, s)
	return spec, schedule(spec, b, p)
}

// schedule sets where and how the bridge's pod runs, by its spec and its tier.
func schedule(spec *corev1ac.PodSpecApplyConfiguration, b *effective.Bridge, p bridgestate.Plan) error {
	if p.RuntimeClass != "" {
		spec.WithRuntimeClassName(p.RuntimeClass)
	}
	if len(b.Spec.NodeSelector) > 0 {
		spec.WithNodeSelector(b.Spec.NodeSelector)
	}
	if b.Spec.Affinity != nil {
		spec.Affinity = &corev1ac.AffinityApplyConfiguration{}
		if err := convert(b.Spec.Affinity, spec.Affinity); err != nil {
			return err
		}
	}
	if len(b.Spec.Tolerations) > 0 {
		return convert(b.Spec.Tolerations, &spec.Tolerations)
	}
	return nil
}

// convert copies an API object to the apply configuration of its type. Both
// have the same JSON form.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("decode %T: %w", to, err)
	}
	return nil
}
