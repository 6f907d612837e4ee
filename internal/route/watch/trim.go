// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
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

// PackageOf returns the package that a server fetches, false for none: bundling.Package.
type PackageOf func(bridgestate.Server) (v1alpha1.Install, bool)

// trimBridge keeps of a bridge what the table and the status are made of. The spec is
// the one in effect, with what profiles change.
func (p PackageOf) trimBridge(object any) (any, error) {
	b, ok := object.(*v1alpha1.HostedBridge)
	if !ok {
		return object, nil
	}
	in := effective.Of(b)
	return &v1alpha1.HostedBridge{
		ObjectMeta: trimMeta(b.ObjectMeta),
		Spec: v1alpha1.HostedBridgeSpec{
			UserID: b.Spec.UserID, Tier: in.Spec.Tier, Mode: in.Spec.Mode, ToolPrefix: in.Spec.ToolPrefix, Choices: trimChoices(b.Spec.Choices), DesiredState: in.Spec.DesiredState, IdleTimeout: in.Spec.IdleTimeout, APIKeys: b.Spec.APIKeys,
			OAuth:   b.Spec.OAuth,
			Groups:  b.Spec.Groups,
			Servers: p.trimServers(in),
		},
		Status: v1alpha1.HostedBridgeStatus{
			Phase: b.Status.Phase, URL: b.Status.URL, Servers: b.Status.Servers, ServerStates: b.Status.ServerStates, Tools: b.Status.Tools, LastActivityTime: b.Status.LastActivityTime, Keys: b.Status.Keys, IdleSince: b.Status.IdleSince,
			ObservedGeneration: b.Status.ObservedGeneration, Configuration: b.Status.Configuration,
			Profiles:  b.Status.Profiles,
			Effective: trimEffective(in), UnprefixedServer: b.Status.UnprefixedServer,
			Conditions: trimConditions(b.Status.Conditions),
			Secrets:    trimSecrets(b.Status.Secrets), Collisions: b.Status.Collisions, Recipes: trimRecipes(b.Status.Recipes),
			Outages: trimOutages(b.Status.Outages), KeyVersion: b.Status.KeyVersion,
		},
	}, nil
}

// trimPerson keeps of a person what the table is made of, the groups, and of those who leave
// how far they are.
func trimPerson(object any) (any, error) {
	p, ok := object.(*v1alpha1.BridgePerson)
	if !ok {
		return object, nil
	}
	kept := &v1alpha1.BridgePerson{ObjectMeta: trimMeta(p.ObjectMeta), Spec: p.Spec}
	kept.Status.LoginsEndedTime, kept.Status.Bridges = p.Status.LoginsEndedTime, p.Status.Bridges
	kept.Status.Conditions, kept.Status.Audited = p.Status.Conditions, p.Status.Audited
	kept.Status.Login = p.Status.Login
	return kept, nil
}

// trimServers keeps the names of servers, of the secrets that they may use, of their
// recipes, how their accounts are connected, and in transport.stdio.install the packages that
// they fetch, however they name them.
func (p PackageOf) trimServers(b *effective.Bridge) []v1alpha1.Server {
	running := runningOf(b)
	var stripped []v1alpha1.Server
	for _, server := range b.Spec.Servers {
		kept := v1alpha1.Server{Name: server.Name, Secrets: server.Secrets}
		if server.Recipe != nil {
			kept.Recipe = &v1alpha1.RecipeReference{Name: server.Recipe.Name}
		}
		runs := running[server.Name]
		if bridgestate.Connects(runs) {
			kept.Auth = &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
				Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: runs.OAuth.AuthorizationURL, Scopes: runs.OAuth.Scopes,
				TokenSecret: v1alpha1.SecretName(runs.OAuth.Token),
			}}
		}
		if fetched, ok := p(runs); ok {
			kept.Transport.Stdio = &v1alpha1.Stdio{Install: &fetched}
		}
		stripped = append(stripped, kept)
	}
	return stripped
}

// runningOf returns the servers as their recipes say, by name. It reads no recipe where no account
// is connected and no package fetched.
func runningOf(b *effective.Bridge) map[string]bridgestate.Server {
	if !slices.ContainsFunc(b.Spec.Servers, func(s effective.Server) bool {
		return s.Auth != nil && s.Auth.OAuth != nil || s.Transport.Stdio != nil
	}) && !slices.ContainsFunc(b.Status.Recipes, func(r v1alpha1.RecipeStatus) bool {
		return r.TokenSecret != "" || strings.Contains(r.Source, string(v1alpha1.InstallNPX)) || strings.Contains(r.Source, string(v1alpha1.InstallUVX))
	}) {
		return nil
	}
	found := map[string]bridgestate.Server{}
	for _, s := range bridgestate.Servers(b) {
		found[s.Name] = s
	}
	return found
}

// trimEffective keeps which profile gives or offers which server, and which SharedServer a server
// of the spec in effect is: effective.Of finds it there.
func trimEffective(b *effective.Bridge) *v1alpha1.EffectiveSettings {
	e := b.Status.Effective
	if e == nil {
		return nil
	}
	kept := &v1alpha1.EffectiveSettings{LeftOut: e.LeftOut}
	for _, s := range e.Servers {
		s.Source = ""
		if !slices.ContainsFunc(b.Spec.Servers, func(in effective.Server) bool { return in.Name == s.Name && in.Shared == s.Shared }) {
			s.Shared = ""
		}
		kept.Servers = append(kept.Servers, s)
	}
	return kept
}

// trimChoices keeps what is chosen of servers.
func trimChoices(c *v1alpha1.Choices) *v1alpha1.Choices {
	if c == nil || len(c.Servers) == 0 {
		return nil
	}
	return &v1alpha1.Choices{Servers: c.Servers}
}

// trimRecipes keeps the names of the secrets that servers may use by their
// recipes, with the version and the page that say where these come from, and why
// a recipe cannot be used. Of others it keeps no reason.
func trimRecipes(recipes []v1alpha1.RecipeStatus) []v1alpha1.RecipeStatus {
	var stripped []v1alpha1.RecipeStatus
	for _, r := range recipes {
		kept := v1alpha1.RecipeStatus{Server: r.Server, Secrets: r.Secrets}
		if len(r.Secrets) > 0 {
			kept.Digest, kept.CredentialsURL = r.Digest, r.CredentialsURL
		}
		if r.Source == "" {
			kept.Reason, kept.Message = r.Reason, r.Message
		}
		if len(kept.Secrets) > 0 || kept.Reason != "" {
			stripped = append(stripped, kept)
		}
	}
	return stripped
}

// trimConditions keeps why the bridge does not run, and what of its spec has no effect: users and
// administrators are told of these.
func trimConditions(conditions []metav1.Condition) []metav1.Condition {
	var stripped []metav1.Condition
	for _, c := range conditions {
		refused := c.Type == v1alpha1.ConditionAccepted && c.Status == metav1.ConditionFalse
		failed := c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionFalse && c.Reason != v1alpha1.ReasonProgressing
		blocked := c.Type == v1alpha1.ConditionWorkloadAvailable && v1alpha1.PodBlocked(c.Reason)
		unknown := c.Type == v1alpha1.ConditionProfilesApplied && c.Reason == v1alpha1.ReasonUnknownGroup
		if refused || failed || blocked || unknown {
			stripped = append(stripped, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime})
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

// trimSecrets keeps the revision, and which secrets servers lack.
func trimSecrets(s *v1alpha1.SecretsStatus) *v1alpha1.SecretsStatus {
	if s == nil || s.Revision == "" && len(s.Missing) == 0 {
		return nil
	}
	return &v1alpha1.SecretsStatus{Revision: s.Revision, Missing: s.Missing}
}

// trimMeta keeps the labels: the cache selects by them.
func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels,
	}
}
