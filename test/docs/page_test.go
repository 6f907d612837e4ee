// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestParse(t *testing.T) {
	fence := "```"
	source := strings.NewReplacer("~~~", fence).Replace(`# A *page*

See [there](other.md#top).

~~~sh
make up
~~~

1. In a list:

   <!-- not run: service; there is no Vault here -->
   ~~~sh
   vault status
   ~~~

<!-- file: bob.yaml -->
~~~yaml
kind: HostedBridge
~~~

<!-- run:
KEY=$(new_key bob)
-->
~~~console
$ kubectl get hb bob \
    -n tenants
NAME   AGE
bob    3d
$ true
~~~

## A *page*
<a id="extra"></a>
`)
	got := must.Value(Parse("a.md", []byte(source)))(t)
	want := Page{
		Path: "a.md",
		Steps: []Step{
			{Kind: Run, Line: 6, Language: "sh", Text: "make up\n"},
			{Kind: NotRun, Line: 13, Language: "sh", Text: "vault status\n", Reason: "service", Why: "there is no Vault here"},
			{Kind: File, Line: 18, Language: "yaml", Text: "kind: HostedBridge\n", Name: "bob.yaml"},
			{Kind: Hidden, Line: 21, Language: "sh", Text: "KEY=$(new_key bob)\n"},
			{Kind: Run, Line: 25, Language: "console", Text: "$ kubectl get hb bob \\\n    -n tenants\nNAME   AGE\nbob    3d\n$ true\n"},
		},
		Links:   []Link{{"other.md#top", 3}},
		Anchors: []string{"a-page", "a-page-1", "extra"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	exchanges := []Exchange{
		{Command: "kubectl get hb bob \\\n    -n tenants\n", Output: "NAME   AGE\nbob    3d\n"},
		{Command: "true\n"},
	}
	if diff := cmp.Diff(exchanges, got.Steps[4].Exchanges()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAMistakeInACommentIsFound(t *testing.T) {
	for name, source := range map[string]string{
		"a word that is none":          "<!-- not-run: x -->\n",
		"no block after it":            "<!-- file: a -->\n\ntext\n",
		"another comment after it":     "<!-- file: a -->\n<!-- run: true -->\n",
		"a block that has no commands": "<!-- not run: service; x -->\n```json\n{}\n```\n",
	} {
		if _, err := Parse("a.md", []byte(source)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name, shown, printed string
		want                 bool
	}{
		{"the same", "a b\n", "a b\n", true},
		{"other spaces between columns", "NAME   AGE\nbob    3d\n", "NAME  AGE\nbob  3d2h\n", true},
		{"another age", "bob 20m", "bob 110ms", true},
		{"another time", `{"at":"2026-11-21T12:00:00Z"}`, `{"at":"2027-01-01T00:00:00.5Z"}`, true},
		{"text in place of an ellipsis", "key hb_… end", "key hb_abc_def end", true},
		{"another word", "bob Ready", "bob NotReady", false},
		{"another number", "12 tools", "13 tools", false},
		{"more lines", "a", "a\nb", false},
		{"fewer lines", "a\nb", "a", false},
		{"no expression of what is shown", "a.c", "abc", false},
	} {
		if got := Matches(test.shown, test.printed); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

func TestLabelsThatNothingHasAreFound(t *testing.T) {
	const none = "No resources found in hosted-bridge-system namespace.\n"
	for _, test := range []struct {
		name, command, printed string
		want                   bool
	}{
		{"labels that nothing has", "kubectl get pods -n hosted-bridge-system -l app.kubernetes.io/name=hosted-bridge-keybroker\n", none, true},
		{"the same in the long form", "kubectl describe pods --namespace=tenants \\\n  --selector=a=b\n", none, true},
		{"labels that something has", "kubectl get pods -l app.kubernetes.io/component=keybroker\n", "", false},
		{"a state that nothing is in", "kubectl get pods --selector=a=b --field-selector=status.phase=Pending\n", none, false},
		{"a kind of which there is nothing", "kubectl get networkpolicies --all-namespaces\n", none, false},
	} {
		if got := SelectsNothing(test.command, test.printed); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestAnAnswerThatListsNothingIsFound(t *testing.T) {
	for _, test := range []struct {
		name, printed string
		want          bool
	}{
		{"no tools", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}`, true},
		{"no tools in an event", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n", true},
		{"no recipes", `{"recipes":[],"total":0}`, true},
		{"the same on several lines", "{\n  \"recipes\": [],\n  \"total\": 0\n}", true},
		{"nothing in the second answer", "{\"recipes\":[{}]}\n{\"results\":[]}\n", true},
		{"nothing in the second answer on one line", `{"recipes":[{}]}{"results":[],"total":0}`, true},
		{"objects of a list, one of them empty", `{"recipes":[{"tags":["a"]},{"tags":[]}]}`, false},
		{"tools", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo"}]}}`, false},
		{"an object one of whose members is empty", `{"name":"GITHUB_TOKEN","servers":[]}`, false},
		{"a report of a time without calls", `{"from":"2026-03-01T00:00:00Z","calls":{"total":0},"tools":[]}`, false},
		{"no answer", "", false},
	} {
		if got := ListsNothing(test.printed); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}
