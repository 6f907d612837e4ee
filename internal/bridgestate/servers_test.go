// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// overHTTP returns a server at a URL, as changed.
func overHTTP(change ...func(*v1alpha1.Server)) v1alpha1.Server {
	s := remote("one")
	for _, c := range change {
		c(&s)
	}
	return s
}

// ofProgram returns a server that is a program, as changed.
func ofProgram(change func(*v1alpha1.Stdio)) v1alpha1.Server {
	p := &v1alpha1.Stdio{Image: "team/server", Command: []string{"server"}}
	change(p)
	return v1alpha1.Server{Name: "one", Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: p}}
}

func withHeader(name, value string) func(*v1alpha1.Server) {
	return func(s *v1alpha1.Server) {
		s.Transport.Headers = append(s.Transport.Headers, v1alpha1.Header{Name: name, Value: value})
	}
}

func mayUse(names ...v1alpha1.SecretName) func(*v1alpha1.Server) {
	return func(s *v1alpha1.Server) { s.Secrets = names }
}

func logsIn(secret, token v1alpha1.SecretName) func(*v1alpha1.Server) {
	return func(s *v1alpha1.Server) {
		s.Auth = &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthClientCredentials, TokenURL: "https://t.example.com/token", ClientID: "me", ClientSecret: secret, TokenSecret: token,
		}}
	}
}

func TestRefuses(t *testing.T) {
	const lineBreak = "it holds a line break or another control character"
	for name, tt := range map[string]struct {
		server v1alpha1.Server
		// reason is empty for a server that is taken.
		reason string
		want   []string
	}{
		"a server at a URL is taken":                {overHTTP(), "", nil},
		"a program is taken":                        {ofProgram(func(*v1alpha1.Stdio) {}), "", nil},
		"a secret that it may use":                  {overHTTP(withHeader("X", "${A}"), mayUse("A")), "", nil},
		"a secret with a default, which it may use": {overHTTP(withHeader("X", "${A:-b}"), mayUse("A")), "", nil},
		"a dollar sign":                             {overHTTP(withHeader("X", "$$5")), "", nil},
		"a tab in a header is not taken":            {overHTTP(withHeader("X", "a\tb")), v1alpha1.ReasonInvalidHeader, []string{"transport.headers[0].value", lineBreak}},
		"two headers that differ in case":           {overHTTP(withHeader("X-A", "1"), withHeader("x-a", "2")), v1alpha1.ReasonInvalidHeader, []string{"transport.headers[1].name: x-a of server one is the same header as X-A"}},
		"three headers, of which the last is one":   {overHTTP(withHeader("A", "1"), withHeader("B", "2"), withHeader("a", "3")), v1alpha1.ReasonInvalidHeader, []string{"transport.headers[2].name"}},
		"a line break in a header":                  {overHTTP(withHeader("X", "hunter2\r\nY: z")), v1alpha1.ReasonInvalidHeader, []string{"header X of server one cannot be read", lineBreak}},
		"a character that deletes in a header":      {overHTTP(withHeader("X", "a\x7f")), v1alpha1.ReasonInvalidHeader, []string{lineBreak}},
		"a reference that does not end":             {overHTTP(withHeader("X", "${hunter2")), v1alpha1.ReasonInvalidHeader, []string{"transport.headers[0].value: header X of server one cannot be read", "$$ is a dollar sign"}},
		"a secret that it may not use":              {overHTTP(withHeader("X", "${A}"), mayUse("B")), v1alpha1.ReasonSecretNotGranted, []string{"header X of server one names the secret A", "spec.servers[].secrets"}},
		"a name that no secret can have":            {overHTTP(withHeader("X", "${a b}"), mayUse("A")), v1alpha1.ReasonInvalidHeader, []string{"header X of server one cannot be read"}},
		"the second of two secrets":                 {overHTTP(withHeader("X", "${A} ${B}"), mayUse("A")), v1alpha1.ReasonSecretNotGranted, []string{"names the secret B"}},
		"the folder of files, in a header":          {overHTTP(withHeader("X", "${CONFIG_DIR}")), v1alpha1.ReasonSecretNotGranted, []string{"names the secret CONFIG_DIR"}},
		"the folder of files, in an argument":       {ofProgram(func(p *v1alpha1.Stdio) { p.Args = []string{"${CONFIG_DIR}/a"} }), "", nil},
		"the folder of files, in a variable":        {ofProgram(func(p *v1alpha1.Stdio) { p.Env = []v1alpha1.StdioVariable{{Name: "D", Value: "${CONFIG_DIR}"}} }), "", nil},
		"the folder of files, in a file":            {ofProgram(func(p *v1alpha1.Stdio) { p.Files = []v1alpha1.StdioFile{{Name: "f", Content: "${CONFIG_DIR}"}} }), v1alpha1.ReasonSecretNotGranted, []string{"transport.stdio.files[0].content: file f of server one names the secret CONFIG_DIR"}},
		"a secret in the command":                   {ofProgram(func(p *v1alpha1.Stdio) { p.Command = []string{"server", "${A}"} }), v1alpha1.ReasonSecretNotGranted, []string{"transport.stdio.command[1]: a part of the command of server one"}},
		"a secret in an argument":                   {ofProgram(func(p *v1alpha1.Stdio) { p.Args = []string{"a", "b", "${A}"} }), v1alpha1.ReasonSecretNotGranted, []string{"transport.stdio.args[2]: an argument of server one"}},
		"a secret in a variable":                    {ofProgram(func(p *v1alpha1.Stdio) { p.Env = []v1alpha1.StdioVariable{{Name: "TOKEN", Value: "${A}"}} }), v1alpha1.ReasonSecretNotGranted, []string{"transport.stdio.env[0].value: variable TOKEN of server one"}},
		"the character NUL in an argument":          {ofProgram(func(p *v1alpha1.Stdio) { p.Args = []string{"hunter2\x00"} }), v1alpha1.ReasonInvalidServer, []string{"transport.stdio.args[0]", "it holds the character NUL"}},
		"a line break in an argument is taken":      {ofProgram(func(p *v1alpha1.Stdio) { p.Args = []string{"a\nb"} }), "", nil},
		"a line break in a file is taken":           {ofProgram(func(p *v1alpha1.Stdio) { p.Files = []v1alpha1.StdioFile{{Name: "f", Content: "a\nb"}} }), "", nil},
		"a client's secret that it may use":         {overHTTP(logsIn("A", ""), mayUse("A")), "", nil},
		"a client's secret that it may not use":     {overHTTP(logsIn("A", "")), v1alpha1.ReasonSecretNotGranted, []string{"auth.oauth.clientSecret: the auth of server one names the secret A"}},
		"a login that it may not use":               {overHTTP(logsIn("A", "B"), mayUse("A")), v1alpha1.ReasonSecretNotGranted, []string{"auth.oauth.tokenSecret: the auth of server one names the secret B"}},
		"a URL with a password":                     {overHTTP(func(s *v1alpha1.Server) { s.Transport.URL = "https://me:hunter2@h.example.com" }), v1alpha1.ReasonInvalidServer, nil},
		"neither URL nor program":                   {v1alpha1.Server{Name: "one"}, v1alpha1.ReasonInvalidServer, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed()
			o.Bridge.Spec.Servers = servers(tt.server)
			got := Refuses(Servers(o.Bridge)[0])
			if got.Reason != tt.reason || (got == Finding{}) != (tt.reason == "") {
				t.Fatalf("refused for %q: %s; want %q", got.Reason, got.Message, tt.reason)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Message, want) {
					t.Errorf("%q is not in: %s", want, got.Message)
				}
			}
			if strings.Contains(got.Message, "servers[0]") || strings.Contains(got.Message, "hunter2") || strings.HasPrefix(got.Message, ".") {
				t.Errorf("the message names a place that there is not, or quotes a value: %s", got.Message)
			}
			// A spec with it is refused for the same.
			if p := Decide(o, now); p.Rejected.Reason != tt.reason || !strings.HasSuffix(p.Rejected.Message, got.Message) {
				t.Errorf("a spec with it is refused for %+v", p.Rejected)
			}
		})
	}
}

func TestTheServerThatIsWrongIsNamedByItsPlace(t *testing.T) {
	wrong := map[string]v1alpha1.Server{
		v1alpha1.ReasonInvalidHeader:    overHTTP(withHeader("A", "1"), withHeader("a", "2")),
		v1alpha1.ReasonSecretNotGranted: overHTTP(withHeader("A", "${B}")),
		v1alpha1.ReasonInvalidServer:    overHTTP(func(s *v1alpha1.Server) { s.Transport.URL = "https://me:p@h.example.com" }),
	}
	for reason, server := range wrong {
		for place := range 3 {
			o := observed(withServers(3))
			server.Name = fmt.Sprintf("s%d", place)
			o.Bridge.Spec.Servers[place] = effective.Server{Server: server}
			got := Decide(o, now).Rejected
			if want := fmt.Sprintf("spec.servers[%d]", place); got.Reason != reason || !strings.HasPrefix(got.Message, want) {
				t.Errorf("%s at %d: %+v", reason, place, got)
			}
		}
	}
}

func TestServersThatAreEachTakenMayBeTooMuchTogether(t *testing.T) {
	o := observed(withTier("pro"))
	large := func(i int) v1alpha1.Server {
		s := ofProgram(func(p *v1alpha1.Stdio) {
			p.Files = []v1alpha1.StdioFile{{Name: "f", Content: strings.Repeat("x", 100<<10)}}
		})
		s.Name = fmt.Sprintf("s%d", i)
		return s
	}
	for i := range 9 {
		o.Bridge.Spec.Servers = append(o.Bridge.Spec.Servers, effective.Server{Server: large(i)})
	}
	if got := Decide(o, now).Rejected; got != (Finding{}) {
		t.Fatalf("900 KiB are refused: %+v", got)
	}
	o.Bridge.Spec.Servers = append(o.Bridge.Spec.Servers, effective.Server{Server: large(9)})
	if got := Decide(o, now).Rejected; got.Reason != v1alpha1.ReasonInvalidServer || !strings.Contains(got.Message, "it must be at most 1024000") {
		t.Errorf("1000 KiB and what is around them: %+v", got)
	}
}

func TestWhichPodStandsForTheBridge(t *testing.T) {
	at := func(name string, age time.Duration, change ...func(*Pod)) Pod {
		p := Pod{Name: name, Created: now.Add(-age)}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	isReady, ends := func(p *Pod) { p.Ready = true }, func(p *Pod) { p.Deleting = true }
	for name, tt := range map[string]struct {
		pods []Pod
		want string
	}{
		"none of none":                            {nil, ""},
		"none of those that end":                  {[]Pod{at("a", 0, isReady, ends), at("b", 0, ends)}, ""},
		"the only one":                            {[]Pod{at("a", 0)}, "a"},
		"the new one of two that start":           {[]Pod{at("a", time.Minute), at("b", time.Hour)}, "a"},
		"the new one of two that are ready":       {[]Pod{at("a", time.Hour, isReady), at("b", time.Minute, isReady)}, "b"},
		"an old one that is ready before a new":   {[]Pod{at("a", 0), at("b", time.Hour, isReady)}, "b"},
		"one that starts before a ready that end": {[]Pod{at("a", 0, isReady, ends), at("b", time.Hour)}, "b"},
		"the later name of one time":              {[]Pod{at("b", 0), at("c", 0), at("a", 0)}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got, o := "", observed(withPods(tt.pods...))
				if p := o.current(); p != nil {
					got = p.Name
				}
				if got != tt.want {
					t.Errorf("%q stands for the bridge, want %q", got, tt.want)
				}
				for i, j := 0, len(tt.pods)-1; i < j; i, j = i+1, j-1 { // In any order.
					tt.pods[i], tt.pods[j] = tt.pods[j], tt.pods[i]
				}
			}
		})
	}
}

func TestTheRuntimeClassIsTheSpecsBeforeTheTiers(t *testing.T) {
	for name, tt := range map[string]struct {
		spec *string
		tier string
		want string
	}{
		"neither":               {nil, "", ""},
		"the tier's":            {nil, "gvisor", "gvisor"},
		"the spec's":            {new("kata"), "", "kata"},
		"the spec's before it":  {new("kata"), "gvisor", "kata"},
		"none, as the spec has": {new(""), "gvisor", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed()
			o.Tiers = quota.Tiers{"free": {RuntimeClassName: tt.tier}}
			o.Bridge.Spec.RuntimeClassName = tt.spec
			if got := Decide(o, now).RuntimeClass; got != tt.want {
				t.Errorf("the class is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestConditionsAreAlwaysAllAndInOneOrder(t *testing.T) {
	want := []string{
		v1alpha1.ConditionAccepted, v1alpha1.ConditionSecretsSealed, v1alpha1.ConditionWorkloadAvailable,
		v1alpha1.ConditionNetworkIsolated, v1alpha1.ConditionServersHealthy, v1alpha1.ConditionReady,
	}
	older := bridge("other", "first", 2*time.Hour)
	for name, o := range map[string]Observed{
		"all is well":            observed(),
		"a pod that is ready":    observed(withPods(Pod{Name: "p", Ready: true})),
		"an unknown tier":        observed(withTier("gold")),
		"an older rival":         observed(withRival(older)),
		"no certificate":         observed(withoutTrust),
		"no keybroker":           observed(withoutKeybroker),
		"a bridge that is ended": observed(withState(v1alpha1.StateSuspended)),
	} {
		t.Run(name, func(t *testing.T) {
			p := Decide(o, now)
			want := append(slices.Clone(want), v1alpha1.ConditionReconciling)
			if p.Rejected != (Finding{}) {
				want[len(want)-1] = v1alpha1.ConditionStalled
			}
			var got []string
			for _, c := range conditions(o, p, Outcome{}, now) {
				got = append(got, c.Type)
				if c.Message == "" || c.Reason == "" || c.Status == "" || len(c.Message) > messageLimit+len("…") {
					t.Errorf("the condition is %+v", c)
				}
				if c.LastTransitionTime != metav1.NewTime(now) {
					t.Errorf("%s has changed at %v", c.Type, c.LastTransitionTime)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongMessageIsCutBetweenCharacters(t *testing.T) {
	for name, tt := range map[string]struct {
		message string
		cut     bool
	}{
		"as long as is kept":    {strings.Repeat("a", messageLimit), false},
		"a byte longer":         {strings.Repeat("a", messageLimit+1), true},
		"in the midst of a two": {"a" + strings.Repeat("ä", messageLimit), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := bounded(tt.message)
			if strings.HasSuffix(got, "…") != tt.cut || strings.ContainsRune(got, '\ufffd') || len(got) > messageLimit+len("…") || !strings.HasPrefix(tt.message, strings.TrimSuffix(got, "…")) {
				t.Errorf("%d bytes become %d, which end with %q", len(tt.message), len(got), got[len(got)-5:])
			}
		})
	}
}

func TestATierThatAllowsExactlySoManyIsNamed(t *testing.T) {
	allows := func(n int32) quota.Tier { return quota.Tier{Servers: &n} }
	o := observed(withServers(4))
	o.Tiers = quota.Tiers{"free": allows(3), "less": allows(2), "exact": allows(4), "more": allows(5), "all": {}}
	if got := Decide(o, now).Rejected.Message; !strings.HasSuffix(got, "or spec.tier must be one of: all, exact, more") {
		t.Errorf("got %q", got)
	}
}

func TestConditionsSayWhichSpecTheyAreAbout(t *testing.T) {
	o := observed(withPods(Pod{Name: "p", Ready: true}), withoutKeybroker)
	o.Bridge.Status.ObservedGeneration = 2 // The keybroker went away before the third was acted on.
	p := Decide(o, now)
	if p.Action != Hold {
		t.Fatalf("the action is %s", p.Action)
	}
	acted := p.generation(o)
	if acted == o.Bridge.Generation {
		t.Fatalf("the spec that was acted on is the present one, %d", acted)
	}
	for _, c := range conditions(o, p, Outcome{}, now) {
		want := o.Bridge.Generation
		if c.Type == v1alpha1.ConditionWorkloadAvailable || c.Type == v1alpha1.ConditionReady {
			want = acted
		}
		if c.ObservedGeneration != want {
			t.Errorf("%s is about %d, want %d", c.Type, c.ObservedGeneration, want)
		}
	}
}

func TestConditionsSayWhyThereIsOrIsNoPod(t *testing.T) {
	empty := workload(func(w *Workload) { w.Replicas, w.Updated, w.Available = 0, 0, 0 })
	ready := withPods(Pod{Name: "p", Ready: true})
	acted := func(generation int64) func(*Observed) {
		return func(o *Observed) { o.Bridge.Status.ObservedGeneration = generation }
	}
	for name, tt := range map[string]struct {
		o   Observed
		out Outcome
		// workload and ready are what these conditions begin with.
		workload, ready string
	}{
		"the pod goes on without a keybroker":             {observed(ready, withoutKeybroker, acted(3)), Outcome{}, "the pod is ready", "calls to status.url reach the bridge"},
		"a change waits for a keybroker":                  {observed(ready, withoutKeybroker, acted(2)), Outcome{}, "the pod is ready; the change of the spec is applied when a keybroker is ready", "calls to status.url reach the bridge"},
		"it is suspended as its user asks":                {observed(withState(v1alpha1.StateSuspended)), empty, "no pod runs, as spec.desiredState asks", "suspended as spec.desiredState asks"},
		"it sleeps":                                       {observed(onDemand, asleep(time.Hour)), empty, "no pod runs, since the bridge was not used for spec.idleTimeout", "asleep: a call to status.url wakes the bridge"},
		"it sleeps with a spec that is not accepted":      {observed(onDemand, asleep(time.Hour), withTier("gold")), Outcome{}, "the bridge sleeps, and does not wake with a spec that is not accepted", `spec.tier: "gold"`},
		"nothing runs of a spec that is not accepted":     {observed(withTier("gold")), Outcome{}, "no pod is made for a spec that is not accepted", `spec.tier: "gold"`},
		"the pod of the spec before goes on":              {observed(ready, withTier("gold")), Outcome{}, "the pod of the spec that was last accepted is ready", `spec.tier: "gold"`},
		"the pod cannot be made":                          {observed(), workload(func(w *Workload) { w.Available, w.Updated, w.ReplicaFailure = 0, 0, "exceeded quota" }), "the pod cannot be made: exceeded quota", "the pod cannot be made"},
		"what was applied is another's":                   {observed(), Outcome{Failed: Finding{v1alpha1.ReasonNotOwned, "it is another's"}}, "it is another's", "it is another's"},
		"the certificate has not been published":          {observed(withoutTrust), Outcome{}, "waiting for the keybroker to publish its CA certificate", "waiting for the keybroker"},
		"the pod starts and says what it waits for":       {observed(withPods(Pod{Name: "p", Waiting: "image is pulled"})), empty, "pod p is not ready: image is pulled", "pod p is not ready"},
		"the pod starts and waits for a keybroker":        {observed(withPods(Pod{Name: "p"}), withoutKeybroker), empty, "pod p waits for a keybroker to be ready", "pod p waits"},
		"the pod starts, and a server's container is not": {observed(withPods(Pod{Name: "p", Failing: "server a: crashed"})), empty, "pod p is not ready: the bridge starts after the containers of its servers; server a: crashed", "pod p is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			list := conditions(tt.o, Decide(tt.o, now), tt.out, now)
			for kind, want := range map[string]string{v1alpha1.ConditionWorkloadAvailable: tt.workload, v1alpha1.ConditionReady: tt.ready} {
				for _, c := range list {
					if c.Type == kind && !strings.HasPrefix(c.Message, want) {
						t.Errorf("%s says %q, want %q", kind, c.Message, want)
					}
					if c.Type == kind && want == "the pod is ready" && c.Message != want {
						t.Errorf("%s says more: %q", kind, c.Message)
					}
				}
			}
		})
	}
}
