// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	copiedID = "0123456789Ab"
	ofTheKey = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
)

func withKeyOf(b *v1alpha1.HostedBridge, id, hash string) *v1alpha1.HostedBridge {
	b.Spec.APIKeys = append(b.Spec.APIKeys, v1alpha1.APIKey{ID: id, Hash: hash})
	return b
}

// accepts returns what is said of the acceptance of o.
func accepts(t *testing.T, o Observed) string {
	t.Helper()
	c := condition(t, v1alpha1.ConditionAccepted, o)
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func TestAKeyThatIsSharedIsNamed(t *testing.T) {
	mallory := func(id, hash string, change ...func(*v1alpha1.HostedBridge)) v1alpha1.HostedBridge {
		b := withKeyOf(bridge("theirs", "mallory", time.Minute), id, hash)
		b.Spec.UserID = "mallory"
		for _, c := range change {
			c(b)
		}
		return *b
	}
	const said = "; keys that are refused where the URL names no user: spec.apiKeys: the HostedBridge theirs/mallory has the hash of 0123456789Ab too; " +
		"make a new key with `kubectl bridge key create alice --namespace=tenants`, whose hash is bound to the user, " +
		"and remove these once no client uses them"
	for _, test := range []struct {
		name  string
		hash  string
		other v1alpha1.HostedBridge
		want  string
	}{
		{"a copy", ofTheKey, mallory(copiedID, ofTheKey), said},
		{"an older bridge's", ofTheKey, mallory(copiedID, ofTheKey, func(b *v1alpha1.HostedBridge) { b.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour)) }), said},
		{"a copy that has expired", ofTheKey, mallory(copiedID, ofTheKey, func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: now} }), said},
		{"a copy of a bound hash", "user-" + ofTheKey, mallory(copiedID, "user-"+ofTheKey), ""},
		{"the hash under another id", ofTheKey, mallory("0123456789Cd", ofTheKey), ""},
		{"another hash under the id", ofTheKey, mallory(copiedID, strings.Replace(ofTheKey, "a", "b", 1)), ""},
		{"the same user's", ofTheKey, mallory(copiedID, ofTheKey, func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "alice" }), ""},
		{"one that is being deleted", ofTheKey, mallory(copiedID, ofTheKey, func(b *v1alpha1.HostedBridge) { b.DeletionTimestamp = &metav1.Time{Time: now} }), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := observed(func(o *Observed) { withKeyOf(o.Bridge.HostedBridge, copiedID, test.hash) })
			o.Sharers = []v1alpha1.HostedBridge{*o.Bridge.HostedBridge, test.other}
			want := "True Accepted: the installation takes the spec"
			if test.want != "" {
				want = "True KeysShared: the installation takes the spec" + test.want
			}
			if got := accepts(t, o); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			o.Bridge.Spec.Tier = "platinum"
			if got := accepts(t, o); !strings.HasPrefix(got, "False UnknownTier: ") || !strings.HasSuffix(got, test.want) {
				t.Errorf("%s, want it to end with %q", got, test.want)
			}
		})
	}
}

func TestTheSameSharerIsNamedWhateverTheirOrder(t *testing.T) {
	o := observed(func(o *Observed) { withKeyOf(o.Bridge.HostedBridge, copiedID, ofTheKey) })
	first, second := withKeyOf(bridge("a", "trudy", 0), copiedID, ofTheKey), withKeyOf(bridge("b", "mallory", 0), copiedID, ofTheKey)
	first.Spec.UserID, second.Spec.UserID = "trudy", "mallory"
	o.Sharers = []v1alpha1.HostedBridge{*first, *second}
	one := accepts(t, o)
	o.Sharers = []v1alpha1.HostedBridge{*second, *first}
	if other := accepts(t, o); one != other || !strings.Contains(one, " a/trudy ") {
		t.Errorf("%s\n%s", one, other)
	}
}
