// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const head = "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\nmetadata: {name: a}\n"

func TestAManifestThatIsWrongSaysWhereAndWhatIsAccepted(t *testing.T) {
	for text, want := range map[string][]Problem{
		" \n":                   {{"", "It is empty. Enter the manifest of a BridgeProfile."}},
		"- a":                   {{"", "It is not an object. Enter the manifest of a BridgeProfile, which begins with apiVersion and kind."}},
		"a: 1\na: 2":            {{"", `It is not YAML: unmarshal errors: line 2: key "a" already set in map.`}},
		head + "---\n" + head:   {{"", "It has more than one document. Enter one BridgeProfile, without lines of ---."}},
		head:                    {{"spec", "It is required."}},
		head + "spec: {}":       {{"spec.who", "It is required."}},
		head + "spec: {who: 7}": {{"spec.who", `It must be of type object: "integer".`}},
		head + "spec: {who: {namespaces: []}, priority: 1000001}": {
			{"spec.priority", "It must be less than or equal to 1000000."}, {"spec.who.namespaces", "It must have at least 1 items."},
		},
		head + "spec: {who: {namespaces: [a], everyone: true}, servers: [{name: x, usage: On}]}": {
			{"spec.servers[0].usage", "There is no such field. There are auth, cacheTTL, description, maxResultBytes, name, recipe, retry, secrets, shared, timeouts, tools, transport, trust, use."},
		},
		strings.Replace(head, "{name: a}", "{name: -, namespace: b}", 1): {
			{"metadata.name", `It is "-". It must be up to 253 lower-case letters, digits, hyphens and dots, such as engineering.`},
			{"metadata.namespace", `It is "b". Profiles have an effect in system alone.`},
		},
		strings.Repeat("#", MaxSize+1): {{"", "It is longer than the 64 KiB that this page takes. Use the command below."}},
	} {
		_, got := Parse([]byte(text), "system")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.80q (-want +got):\n%s", text, diff)
		}
	}
}

// bomb is a text whose aliases stand for 9^9 texts.
func bomb() string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		n, last := string(rune('1'+i)), string(rune('0'+i))
		text += "a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat("*a"+last+",", 9), ",") + "]\n"
	}
	return text
}

func TestAManifestThatStandsForMuchMoreIsRefused(t *testing.T) {
	for _, text := range []string{bomb(), strings.Repeat("[", 30_000)} {
		if _, problems := Parse([]byte(text), "system"); len(problems) == 0 || !strings.Contains(problems[0].Text, "not YAML") {
			t.Errorf("%.40q: %+v", text, problems)
		}
	}
}

func TestAManifestGetsTheDefaultsOfTheAPIServer(t *testing.T) {
	p, problems := Parse([]byte("---\n"+head+"spec:\n  who: {namespaces: [a], everyone: true}\n  servers: [{name: x, recipe: {name: r}}]\n  rollout: {perSecond: 5}\nstatus: {matched: 7}\n"), "system")
	want := v1alpha1.BridgeProfileSpec{
		Who: v1alpha1.ProfileSubjects{Namespaces: []string{"a"}, Everyone: true}, Rollout: v1alpha1.ProfileRollout{Pace: v1alpha1.PacePaced, PerSecond: 5, MaxFailures: 3},
		Servers: []v1alpha1.ProfileServer{{Server: v1alpha1.Server{Name: "x", Recipe: &v1alpha1.RecipeReference{Name: "r"}, Trust: "Trusted"}, Use: v1alpha1.ServerDefault}},
	}
	if diff := cmp.Diff(want, p.Spec); diff != "" || len(problems) > 0 || p.Namespace != "system" || p.Status.Matched != 0 {
		t.Errorf("%s/%s %+v (-want +got):\n%s", p.Namespace, p.Name, problems, diff)
	}
}

func TestATextIsReadAsItWasWritten(t *testing.T) {
	spec := v1alpha1.BridgeProfileSpec{Priority: 7, Tier: "pro", Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Users: []v1alpha1.UserID{"alice"}}}
	p := v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Namespace: "system", UID: "u", ResourceVersion: "9", Generation: 3, CreationTimestamp: metav1.Now(), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "x"},
	}, Spec: spec, Status: v1alpha1.BridgeProfileStatus{Matched: 3}}
	hostile := p
	hostile.Spec.Tier = "a\u202eb\x1b\U000e0001"
	if got, err := Text(hostile); err != nil || strings.ContainsFunc(got, isHidden) || !strings.Contains(got, `"a\u202eb\u001b\U000e0001"`) {
		t.Errorf("%q, %v", got, err)
	} else if again, problems := Parse([]byte(got), "system"); len(problems) > 0 || again.Spec.Tier != hostile.Spec.Tier {
		t.Errorf("%q is read as %q: %+v", got, again.Spec.Tier, problems)
	}
	text := must.Value(Text(p))(t)
	again, problems := Parse([]byte(text), "system")
	if diff := cmp.Diff(spec, again.Spec); diff != "" || len(problems) > 0 || again.Labels["l"] != "1" || len(again.Annotations) != 1 || again.UID != "" {
		t.Errorf("%s\n%+v (-want +got):\n%s", text, problems, diff)
	}
}
