// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// trimPod keeps of a pod what route.Build reads. At 10,000 tenants the whole
// pods would be most of the ingress's memory.
func trimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // A tombstone.
	}
	stripped := &corev1.Pod{
		ObjectMeta: trimMeta(pod.ObjectMeta),
		Status:     corev1.PodStatus{PodIP: pod.Status.PodIP, Phase: pod.Status.Phase},
	}
	if uid := pod.Annotations[v1alpha1.AnnotationBridgeUID]; uid != "" {
		stripped.Annotations = map[string]string{v1alpha1.AnnotationBridgeUID: uid}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			stripped.Status.Conditions = []corev1.PodCondition{{Type: condition.Type, Status: condition.Status, Reason: condition.Reason}}
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == v1alpha1.BridgeContainer {
			stripped.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: status.Name, Ready: status.Ready}}
		}
	}
	return stripped, nil
}

// trimBridge keeps of a bridge what the table and the status are made of. The spec is
// the one in effect, with what profiles change.
func trimBridge(object any) (any, error) {
	b, ok := object.(*v1alpha1.HostedBridge)
	if !ok {
		return object, nil
	}
	b = b.WithEffective()
	return &v1alpha1.HostedBridge{
		ObjectMeta: trimMeta(b.ObjectMeta),
		Spec: v1alpha1.HostedBridgeSpec{
			UserID: b.Spec.UserID, Tier: b.Spec.Tier, DesiredState: b.Spec.DesiredState, IdleTimeout: b.Spec.IdleTimeout, APIKeys: b.Spec.APIKeys,
			OAuth:   b.Spec.OAuth,
			Servers: trimServers(b.Spec.Servers),
		},
		Status: v1alpha1.HostedBridgeStatus{
			Phase: b.Status.Phase, Servers: b.Status.Servers, ServerStates: b.Status.ServerStates, Tools: b.Status.Tools, LastActivityTime: b.Status.LastActivityTime, Keys: b.Status.Keys, IdleSince: b.Status.IdleSince,
			Effective: trimEffective(b.Status.Effective),
			Secrets:   trimSecrets(b.Status.Secrets), Collisions: b.Status.Collisions, Recipes: trimRecipes(b.Status.Recipes),
			Outages: trimOutages(b.Status.Outages),
		},
	}, nil
}

// trimPerson keeps of a person what the table is made of, and of those who leave how far
// they are.
func trimPerson(object any) (any, error) {
	p, ok := object.(*v1alpha1.BridgePerson)
	if !ok {
		return object, nil
	}
	kept := &v1alpha1.BridgePerson{ObjectMeta: trimMeta(p.ObjectMeta), Spec: p.Spec}
	kept.Status.LoginsEndedTime, kept.Status.Bridges = p.Status.LoginsEndedTime, p.Status.Bridges
	kept.Status.Conditions, kept.Status.Audited = p.Status.Conditions, p.Status.Audited
	if p.Status.Login != nil && p.Status.Login.User != "" {
		kept.Status.Login = &v1alpha1.PersonLogin{Time: p.Status.Login.Time, User: p.Status.Login.User}
	}
	return kept, nil
}

// trimServers keeps the names of servers, of the secrets that they may use, and of
// their recipes.
func trimServers(servers []v1alpha1.Server) []v1alpha1.Server {
	var stripped []v1alpha1.Server
	for _, server := range servers {
		kept := v1alpha1.Server{Name: server.Name, Secrets: server.Secrets}
		if server.Recipe != nil {
			kept.Recipe = &v1alpha1.RecipeReference{Name: server.Recipe.Name}
		}
		stripped = append(stripped, kept)
	}
	return stripped
}

// trimEffective keeps which profile gives which server.
func trimEffective(e *v1alpha1.EffectiveSettings) *v1alpha1.EffectiveSettings {
	if e == nil {
		return nil
	}
	kept := &v1alpha1.EffectiveSettings{}
	for _, s := range e.Servers {
		if s.Source != "" {
			kept.Servers = append(kept.Servers, v1alpha1.EffectiveServer{Name: s.Name, Profile: s.Profile, Use: s.Use})
		}
	}
	return kept
}

// trimRecipes keeps the names of the secrets that servers may use by their
// recipes, and why a recipe cannot be used. Of others it keeps no reason.
func trimRecipes(recipes []v1alpha1.RecipeStatus) []v1alpha1.RecipeStatus {
	var stripped []v1alpha1.RecipeStatus
	for _, r := range recipes {
		kept := v1alpha1.RecipeStatus{Server: r.Server, Secrets: r.Secrets}
		if r.Source == "" {
			kept.Reason, kept.Message = r.Reason, r.Message
		}
		if len(kept.Secrets) > 0 || kept.Reason != "" {
			stripped = append(stripped, kept)
		}
	}
	return stripped
}

// trimOutages keeps why servers are out of service.
func trimOutages(outages []v1alpha1.ServerOutage) []v1alpha1.ServerOutage {
	var stripped []v1alpha1.ServerOutage
	for _, o := range outages {
		if o.Message != "" {
			stripped = append(stripped, v1alpha1.ServerOutage{Server: o.Server, Message: o.Message})
		}
	}
	return stripped
}

// trimSecrets keeps the revision.
func trimSecrets(s *v1alpha1.SecretsStatus) *v1alpha1.SecretsStatus {
	if s == nil || s.Revision == "" {
		return nil
	}
	return &v1alpha1.SecretsStatus{Revision: s.Revision}
}

// trimMeta keeps the labels: the cache selects by them.
func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels,
	}
}
