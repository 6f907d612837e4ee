// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// listed is how many things of a kind a message names. A user with more
// problems sees the others once these are solved.
const listed = 5

// Report returns what decisions read of the keybroker's report. It does not
// change when a secret is set to another value, nor, where the spec names no
// secrets, when the keybroker has looked at another spec.
func Report(b *effective.Bridge) v1alpha1.SecretsStatus {
	report := ptr.Deref(b.Status.Secrets, v1alpha1.SecretsStatus{})
	report.Revision = ""
	if !wantsSecrets(b) {
		report.ObservedGeneration = 0
	}
	return report
}

// secretsSealed says what the keybroker reports of the bridge's secrets, as far
// as its report is current.
func secretsSealed(o Observed, p Plan) metav1.Condition {
	const kind = v1alpha1.ConditionSecretsSealed
	b := o.Bridge
	report := Report(b)
	out := outOfService(b, report.Missing, nil)
	switch wanted := wantsSecrets(b); {
	case !wanted && report.Count == 0 && len(report.Failures) == 0:
		return isTrue(kind, v1alpha1.ReasonNothingToSeal, "the bridge has no secrets and its spec names none")
	case !o.KeybrokerReady:
		return isUnknown(kind, Finding{v1alpha1.ReasonKeybrokerUnavailable,
			"no keybroker is ready to say; what runs goes on with the secrets it has, and none can be set or sealed"})
	case wanted && (report.ObservedGeneration < b.Generation || report.ObservedRecipes != SecretsBesideSpec(b)):
		return isFalse(kind, Finding{v1alpha1.ReasonSealing, "the keybroker has not yet acted on this spec"})
	case len(out) > 0:
		return isFalse(kind, Finding{v1alpha1.ReasonSecretsMissing, missing(out, report, b, p)})
	case len(report.Failures) > 0:
		return isFalse(kind, Finding{report.Failures[0].Reason, failed(report)})
	default:
		return isTrue(kind, v1alpha1.ReasonSealed, fmt.Sprintf("all secrets that the spec names are sealed; there are %d in all", report.Count))
	}
}

// wantsSecrets says that the spec or a recipe names a secret, or where one comes
// from.
func wantsSecrets(b *effective.Bridge) bool {
	return len(b.Spec.SecretRefs) > 0 || SecretsBesideSpec(b) != "" || slices.ContainsFunc(b.Spec.Servers, func(s effective.Server) bool {
		return s.Recipe == nil && s.Shared == "" && len(s.Secrets) > 0
	})
}

// lack is a server and the secrets that are missing for it to be in service.
type lack struct {
	server  string
	secrets []string
}

// outOfService returns the servers that wait for a secret which is not set, or
// may use one that does not open, in the order of the spec. A default replaces
// the former and not the latter, here as in the bridge.
func outOfService(b *effective.Bridge, notSet, unreadable []string) []lack {
	var out []lack
	for _, server := range Servers(b) {
		if server.Shared != "" {
			continue // Its secrets are not the user's.
		}
		l, required := lack{server: server.Name}, server.Required()
		for _, name := range server.Secrets {
			if slices.Contains(unreadable, name) || slices.Contains(notSet, name) && slices.Contains(required, name) {
				l.secrets = append(l.secrets, name)
			}
		}
		if l.secrets != nil {
			out = append(out, l)
		}
	}
	return out
}

// missing says which servers wait for which secrets and how to set these. If
// the user id belongs to another bridge, the URL leads there.
func missing(out []lack, report v1alpha1.SecretsStatus, b *effective.Bridge, p Plan) string {
	message := enumerate(out, "; ", func(l lack) string {
		said := fmt.Sprintf("server %s is out of service until these secrets are set: %s", l.server, names(l.secrets))
		if from := RecipeOf(b, l.server).CredentialsURL; from != "" {
			said += ", which " + from + " gives"
		}
		return said
	}) + "; set a secret "
	if p.OwnsURL() {
		message += fmt.Sprintf("by PUT /u/%s/secrets/<NAME>, or ", b.User())
	}
	message += "by a Secret in spec.secretRefs"
	if len(report.Failures) > 0 {
		message += "; besides, " + failed(report)
	}
	return message
}

func failed(report v1alpha1.SecretsStatus) string {
	return enumerate(report.Failures, "; ", func(f v1alpha1.SecretFailure) string {
		return f.Name + ": " + cmp.Or(f.Message, f.Reason)
	})
}

// wanting summarizes what is out of service because a secret is not set or does
// not open. It is empty if nothing is.
func wanting(b *effective.Bridge) string {
	report := Report(b)
	var unreadable []string
	for _, f := range report.Failures {
		if f.Reason == v1alpha1.ReasonSecretsUnreadable {
			unreadable = append(unreadable, f.Name)
		}
	}
	out := outOfService(b, report.Missing, unreadable)
	if len(out) == 0 {
		return ""
	}
	return "; out of service for want of a secret: " + enumerate(out, ", ", func(l lack) string {
		return fmt.Sprintf("server %s (%s)", l.server, names(l.secrets))
	})
}

// enumerate joins the texts that say returns for the first items, and adds the
// number of the others.
func enumerate[T any](items []T, separator string, say func(T) string) string {
	var said []string
	for _, item := range items[:min(len(items), listed)] {
		said = append(said, say(item))
	}
	if more := len(items) - listed; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, separator)
}

func names(secrets []string) string {
	return enumerate(secrets, ", ", func(s string) string { return s })
}
