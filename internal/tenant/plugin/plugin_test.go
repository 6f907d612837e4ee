// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }

// standIn is an API server that answers from lists, and notes what is written.
type standIn struct {
	mu sync.Mutex
	// lists are the answers by path, or how the API server refuses one.
	bridges   []v1alpha1.HostedBridge
	pods      []corev1.Pod
	events    []corev1.Event
	persons   []v1alpha1.BridgePerson
	forbidden []string
	missing   bool
	written   []string
	logs      map[string]string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if s.missing {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource", nil)
		return
	}
	namespace, rest := "", parts[3-bare(parts[0]):]
	if rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	if slices.Contains(s.forbidden, r.Method+" "+namespace+"/"+strings.Join(rest, "/")) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(`%s is forbidden: User "eve" cannot do it in the namespace %q`, rest[0], namespace), nil)
		return
	}
	switch {
	case r.Method == http.MethodPatch:
		s.patch(w, r, rest)
	case len(rest) == 3 && rest[2] == "log":
		_, _ = fmt.Fprint(w, s.logs[rest[1]+"/"+r.URL.Query().Get("container")+"?"+r.URL.Query().Get("tailLines")])
	case len(rest) == 2:
		s.get(w, rest[0], namespace, rest[1])
	default:
		s.list(w, rest[0], namespace)
	}
}

// bare is one more than the parts before the resource that a path of the core API lacks.
func bare(first string) int {
	if first == "api" {
		return 1
	}
	return 0
}

func (s *standIn) patch(w http.ResponseWriter, r *http.Request, rest []string) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	text, err := yaml.YAMLToJSON(body.Bytes())
	if err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error(), nil)
		return
	}
	s.written = append(s.written, strings.Join(rest, "/")+" by "+r.URL.Query().Get("fieldManager")+" "+string(text))
	if rest[0] == "bridgepersons" {
		answer(w, v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: rest[1]}})
		return
	}
	answer(w, v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: rest[1]}})
}

func (s *standIn) get(w http.ResponseWriter, resource, namespace, name string) {
	if resource == "hostedbridges" {
		for _, b := range s.bridges {
			if b.Namespace == namespace && b.Name == name {
				answer(w, b)
				return
			}
		}
	}
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, resource+" "+name+" not found", &metav1.StatusDetails{Name: name})
}

func (s *standIn) list(w http.ResponseWriter, resource, namespace string) {
	switch resource {
	case "hostedbridges":
		answer(w, v1alpha1.HostedBridgeList{Items: slices.DeleteFunc(slices.Clone(s.bridges), func(b v1alpha1.HostedBridge) bool {
			return namespace != "" && b.Namespace != namespace
		})})
	case "pods":
		answer(w, corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: s.pods})
	case "events":
		answer(w, corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: s.events})
	default:
		answer(w, v1alpha1.BridgePersonList{Items: s.persons})
	}
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, Details: details,
	})
}

// kubeconfig writes a kubeconfig with two contexts: one of the server and the namespace tenants, and
// one of a server that is away.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: here
clusters:
- {name: here, cluster: {server: %q}}
- {name: away, cluster: {server: "http://127.0.0.1:1"}}
users: [{name: eve, user: {token: secret-token}}]
contexts:
- {name: here, context: {cluster: here, user: eve, namespace: tenants}}
- {name: away, context: {cluster: away, user: eve}}
`, server), 0o600))
	return file
}

// run runs a command as main does.
func run(t *testing.T, in string, args ...string) (out, problems string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := New(Terminal{In: strings.NewReader(in), Out: &stdout, Err: &stderr, Interactive: in != "", Random: rand.Reader, Now: func() time.Time { return now }})
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	if err != nil && strings.Contains(err.Error(), "secret-token") {
		t.Errorf("the error has the credentials: %v", err)
	}
	return stdout.String(), stderr.String(), err
}

// serve runs the stand-in, and has the commands use it.
func serve(t *testing.T, s *standIn) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", kubeconfig(t, server.URL))
}

// bridge returns a HostedBridge that works.
func bridge(namespace, name string) v1alpha1.HostedBridge {
	condition := func(of, reason string) metav1.Condition {
		return metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: *ago(time.Hour)}
	}
	return v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Generation: 1, CreationTimestamp: *ago(48 * time.Hour)},
		Spec: v1alpha1.HostedBridgeSpec{
			Tier: "free", DesiredState: v1alpha1.StateOnDemand, APIKeys: []v1alpha1.APIKey{{ID: "aaaaaaaa", Hash: "user-sha256:00", Name: "laptop"}},
			Servers: []v1alpha1.Server{{Name: "docs"}},
		},
		Status: v1alpha1.HostedBridgeStatus{
			ObservedGeneration: 1, Phase: v1alpha1.PhaseRunning, Servers: "1/1", Tools: new(int32(3)), LastActivityTime: ago(5 * time.Minute),
			Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted), condition(v1alpha1.ConditionSecretsSealed, v1alpha1.ReasonSealed),
				condition(v1alpha1.ConditionWorkloadAvailable, v1alpha1.ReasonAvailable), condition(v1alpha1.ConditionReady, v1alpha1.ReasonReady),
			},
			ServerStates: []v1alpha1.ServerState{{Name: "docs", State: v1alpha1.ServerHealthy, Tools: 3}},
		},
	}
}

func TestListShowsEachBridgeInWords(t *testing.T) {
	alice, bob, carol := bridge("tenants", "alice"), bridge("tenants", "bob"), bridge("trials", "carol")
	alice.Status.ServerStates[0] = v1alpha1.ServerState{Name: "docs", State: v1alpha1.ServerUnhealthy, Reason: "ConnectionRefused", Message: "the server's address refuses connections"}
	alice.Status.Servers = "0/1"
	bob.Spec.UserID, bob.Status.Phase, bob.Status.IdleSince = "robert", v1alpha1.PhaseAsleep, ago(time.Hour)
	carol.Status = v1alpha1.HostedBridgeStatus{Phase: v1alpha1.PhaseFailed, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnknownTier, Message: "spec.tier must be one of: free, pro",
	}}}
	serve(t, &standIn{bridges: []v1alpha1.HostedBridge{alice, bob, carol}})

	out, _, err := run(t, "", "list", "-A")
	want := `NAMESPACE   NAME    USER     PHASE     SERVERS   LAST-USED   STATE
tenants     alice   alice    Running   0/1       5m          1 of 1 server cannot be used.
tenants     bob     robert   Asleep    1/1       5m          The bridge is asleep, and wakes at the next call.
trials      carol   carol    Failed    -/1       <never>     The bridge does not run: spec.tier must be one of: free, pro.
`
	if diff := cmp.Diff(want, out); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	out, _, err = run(t, "", "list", "--namespace=trials")
	if err != nil || !strings.HasPrefix(out, "NAME    USER    PHASE") || strings.Count(out, "\n") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	out, problems, err := run(t, "", "list", "-n", "empty")
	if err != nil || out != "" || problems != "No resources found in empty namespace.\n" {
		t.Errorf("%v %q %q", err, out, problems)
	}
}

func TestListForPrograms(t *testing.T) {
	suspended := bridge("tenants", "alice")
	suspended.Status.Access = &v1alpha1.BridgeAccess{State: v1alpha1.AccessSuspended, Since: *ago(time.Hour)}
	serve(t, &standIn{bridges: []v1alpha1.HostedBridge{suspended}})
	for output, read := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": func(b []byte, v any) error { return yaml.Unmarshal(b, v) }} {
		out, _, err := run(t, "", "list", "-o", output)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Bridges []struct{ User, Namespace, Access, Summary, LastActivity string }
		}
		must.Succeed(t, read([]byte(out), &got))
		if len(got.Bridges) != 1 || got.Bridges[0].Access != "Suspended" || got.Bridges[0].Summary != "This person's keys and logins are refused." ||
			got.Bridges[0].LastActivity != "2026-03-01T11:55:00Z" || strings.Contains(out, "user-sha256") {
			t.Errorf("%s: %s", output, out)
		}
	}
	if _, _, err := run(t, "", "list", "-o", "wide"); err == nil || !strings.Contains(err.Error(), "give json or yaml") {
		t.Errorf("another output: %v", err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	alice, deborah := bridge("tenants", "alice"), bridge("trials", "deborah")
	for name, tt := range map[string]struct {
		api  *standIn
		args []string
		want []string
	}{
		"a mistyped name":                {&standIn{}, []string{"why", "alcie"}, []string{`the namespace tenants has no HostedBridge "alcie"; did you mean alice?`}},
		"another namespace":              {&standIn{}, []string{"why", "deborah"}, []string{"the namespace trials has one: add --namespace=trials"}},
		"no name like it":                {&standIn{}, []string{"why", "zoe"}, []string{"kubectl bridge list --all-namespaces"}},
		"one namespace may be listed":    {&standIn{forbidden: []string{"GET /hostedbridges"}}, []string{"why", "alicee"}, []string{"did you mean alice?"}},
		"nothing may be listed":          {&standIn{forbidden: []string{"GET tenants/hostedbridges"}}, []string{"list"}, []string{"you may not do this", `User "eve"`, "docs/operations/rights.md#people"}},
		"the API server is away":         {&standIn{}, []string{"list", "--context=away"}, []string{"the API server http://127.0.0.1:1 does not answer", "--context"}},
		"an unknown context":             {&standIn{}, []string{"list", "--context=nowhere"}, []string{`context "nowhere" does not exist`}},
		"no such kubeconfig":             {&standIn{}, []string{"list", "--kubeconfig=/nowhere/config"}, []string{"read the kubeconfig", "/nowhere/config"}},
		"hosted-bridge is not installed": {&standIn{missing: true}, []string{"list"}, []string{"hosted-bridge is not installed in this cluster"}},
		"the same for one bridge":        {&standIn{missing: true}, []string{"why", "alice"}, []string{"hosted-bridge is not installed in this cluster"}},
		"a lifetime that is none":        {&standIn{}, []string{"key", "create", "alice", "--expires=soon"}, []string{"--expires"}},
		"a label that is none":           {&standIn{}, []string{"key", "create", "alice", "--label=-"}, []string{"--label"}},
		"an unknown command":             {&standIn{}, []string{"lst"}, []string{`unknown command "lst" for "kubectl bridge"`, "list"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.api.bridges = []v1alpha1.HostedBridge{alice, deborah}
			serve(t, tt.api)
			_, _, err := run(t, "", tt.args...)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
		})
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, _, err := run(t, "", "list"); err == nil || !strings.Contains(err.Error(), "set KUBECONFIG") {
		t.Errorf("without a cluster: %v", err)
	}
}

func TestWhySaysEachCause(t *testing.T) {
	b := bridge("tenants", "alice")
	b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: "guarded", Secrets: []v1alpha1.SecretName{"GUARDED_TOKEN"}}, v1alpha1.Server{Name: "npm"})
	b.Spec.APIKeys[0].ExpiresAt = ago(24 * time.Hour)
	b.Generation = 2
	b.Status.Secrets = &v1alpha1.SecretsStatus{Missing: []string{"GUARDED_TOKEN"}}
	b.Status.ServerStates = append(b.Status.ServerStates,
		v1alpha1.ServerState{Name: "guarded", State: v1alpha1.ServerUnhealthy, Reason: "SecretMissing", Message: "secret GUARDED_TOKEN is not set", Since: ago(time.Minute)},
		v1alpha1.ServerState{Name: "npm", State: v1alpha1.ServerUnhealthy, Reason: "Failed", Message: `program "npx" ended with status 1`, Since: ago(2 * time.Minute)})
	b.Status.Conditions[1] = metav1.Condition{
		Type: v1alpha1.ConditionSecretsSealed, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSecretsMissing, Message: "GUARDED_TOKEN is not set", LastTransitionTime: *ago(3 * time.Minute),
	}
	programs := corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge"}, {Name: "stdio-npm"}}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice-bridge-1"}, Spec: programs, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "bridge", Ready: true},
		{Name: "stdio-npm", RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: *ago(time.Minute)}}},
	}}}
	event := func(kind, name string, uid types.UID, message string) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: uid}, Type: "Warning", Reason: "Failed", Message: message, LastTimestamp: *ago(time.Minute)}
	}
	serve(t, &standIn{bridges: []v1alpha1.HostedBridge{b}, pods: []corev1.Pod{pod}, events: []corev1.Event{
		event("Pod", "alice-bridge-1", "x", "Back-off restarting\nfailed container"), event("HostedBridge", "alice", "uid-alice", "its servers"),
		event("HostedBridge", "alice", "another", "of a former bridge"), event("Pod", "bob-bridge-1", "y", "of somebody else"),
	}})
	out, _, err := run(t, "", "why", "alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"HostedBridge tenants/alice of the user alice, tier free: Running\n2 of 3 servers cannot be used.\n",
		"\nOperator (not observed)\n  The operator has not acted on the last change",
		"\nSecrets sealed: no (secrets missing), since 3m\n  GUARDED_TOKEN is not set\n  What to do: Servers need secrets that are not set.",
		"\nServer guarded (secret missing), since 60s\n  secret GUARDED_TOKEN is not set\n  The user's page says: Set GUARDED_TOKEN.\n",
		"\nServer npm (failed), since 2m\n  program \"npx\" ended with status 1\n",
		"  Next: kubectl bridge logs alice --namespace=tenants --server=npm\n  What to do: Any other failure. The message has the error.\n",
		"\nProgram of server npm (crash loop back off), since 60s\n  back-off 5m0s; it ended with the code 1 (Error), and was started again 4 times\n",
		"\nKey aaaaaaaa laptop (expired), since 24h\n",
		"More: docs/troubleshooting.md#secretsmissing\n",
		"\nWarnings of the last hour:\n  60s ago, pod alice-bridge-1: Failed: Back-off restarting failed container\n  60s ago, hostedbridge alice: Failed: its servers\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, other := range []string{"docs (", "bob", "former", "](", "Accepted", "Ready"} {
		if strings.Contains(out, other) {
			t.Errorf("it has %q", other)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestWhyOfBridgesAsAWhole(t *testing.T) {
	with := func(change func(*v1alpha1.HostedBridge)) v1alpha1.HostedBridge {
		b := bridge("tenants", "alice")
		change(&b)
		return b
	}
	for name, tt := range map[string]struct {
		bridge v1alpha1.HostedBridge
		want   []string
		causes int
	}{
		"nothing is wrong": {with(func(*v1alpha1.HostedBridge) {}), []string{"1 server, 3 tools. Nothing is reported to be wrong.\n"}, 0},
		"asleep": {with(func(b *v1alpha1.HostedBridge) {
			b.Status.Phase, b.Status.IdleSince = v1alpha1.PhaseAsleep, ago(time.Hour)
		}),
			[]string{"To start it now: kubectl bridge wake alice --namespace=tenants\n"}, 0},
		"suspended by an administrator": {with(func(b *v1alpha1.HostedBridge) {
			b.Status.Access = &v1alpha1.BridgeAccess{State: v1alpha1.AccessSuspended, Since: *ago(time.Hour)}
			b.Status.Phase, b.Status.Conditions[2].Reason = v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended
		}), []string{"keys and logins are refused", "\nAccess (suspended), since 60m\n", "kubectl bridge resume alice --namespace=tenants"}, 1},
		"a quota of the namespace": {with(func(b *v1alpha1.HostedBridge) {
			b.Status.Phase, b.Status.ServerStates = v1alpha1.PhasePending, nil
			b.Status.Conditions[2] = metav1.Condition{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonProgressing, Message: "exceeded quota: none"}
		}), []string{"The bridge is starting: exceeded quota: none.", "Workload available: no (progressing)", "kubectl describe pods -n tenants -l app.kubernetes.io/instance=alice"}, 2},
		"no way in": {with(func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }), []string{"Keys (none)", "kubectl bridge key create alice --namespace=tenants"}, 1},
		"programs without an image": {with(func(b *v1alpha1.HostedBridge) { b.Status.Conditions[0].Reason = v1alpha1.ReasonRuntimesMissing }),
			[]string{"Accepted: yes (runtimes missing)", "Set `bridge.runtimes.node`"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, &standIn{bridges: []v1alpha1.HostedBridge{tt.bridge}, forbidden: []string{"GET tenants/events"}})
			out, _, err := run(t, "", "why", "alice")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			blocks := strings.Count(out, "\n\n")
			if strings.Contains(out, "You may not list events") {
				blocks--
			}
			if blocks != tt.causes || (tt.causes > 0) != strings.Contains(out, "You may not list events") {
				t.Errorf("%d causes, want %d:\n%s", blocks, tt.causes, out)
			}
		})
	}
}

func TestLogs(t *testing.T) {
	b := bridge("tenants", "alice")
	b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: "memory"})
	pod := func(name string, made time.Duration) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: name, CreationTimestamp: *ago(made)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge"}, {Name: "stdio-memory"}}},
		}
	}
	api := &standIn{bridges: []v1alpha1.HostedBridge{b}, pods: []corev1.Pod{pod("old", time.Hour), pod("new", time.Minute)}, logs: map[string]string{
		"new/bridge?": "of the bridge\n", "new/stdio-memory?20": "of the program\n",
	}}
	serve(t, api)
	for want, args := range map[string][]string{
		"of the bridge\n":  {"logs", "alice"},
		"of the program\n": {"logs", "alice", "--server=memory", "--tail=20"},
	} {
		if out, _, err := run(t, "", args...); err != nil || out != want {
			t.Errorf("%q: %v %q", args, err, out)
		}
	}
	for want, args := range map[string][]string{
		"did you mean memory?":         {"logs", "alice", "--server=memroy"},
		`it has 2: ["docs" "memory"]`:  {"logs", "alice", "--server=x"},
		"has no program beside the br": {"logs", "alice", "--server=docs"},
	} {
		if _, _, err := run(t, "", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	api.pods, api.bridges[0].Status.IdleSince = nil, ago(time.Minute)
	if _, _, err := run(t, "", "logs", "alice"); err == nil || !strings.Contains(err.Error(), "kubectl bridge wake alice") {
		t.Errorf("asleep: %v", err)
	}
}

func TestWake(t *testing.T) {
	b := bridge("tenants", "alice")
	api := &standIn{bridges: []v1alpha1.HostedBridge{b}}
	serve(t, api)
	if out, _, err := run(t, "", "wake", "alice"); err != nil || out != "hostedbridge.hostedbridge.dev/alice is not asleep\n" {
		t.Errorf("%v %q", err, out)
	}
	api.bridges[0].Status.IdleSince = ago(time.Minute)
	if out, _, err := run(t, "", "wake", "alice"); err != nil || out != "hostedbridge.hostedbridge.dev/alice woken\n" {
		t.Errorf("%v %q", err, out)
	}
	want := []string{`hostedbridges/alice/status by kubectl-bridge {"metadata":{"resourceVersion":"7"},"status":{"lastActivityTime":"2026-03-01T12:00:00Z"}}`}
	if diff := cmp.Diff(want, api.written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	api.forbidden = []string{"PATCH tenants/hostedbridges/alice/status"}
	if _, _, err := run(t, "", "wake", "alice"); err == nil || !strings.Contains(err.Error(), "hostedbridges/status") || !strings.Contains(err.Error(), "/console/people/alice") {
		t.Errorf("without the right: %v", err)
	}
	api.bridges[0].Spec.DesiredState = v1alpha1.StateSuspended
	if _, _, err := run(t, "", "wake", "alice"); err == nil || !strings.Contains(err.Error(), "spec.desiredState") {
		t.Errorf("suspended: %v", err)
	}
}

func TestOffboardingAsksFirst(t *testing.T) {
	b := bridge("tenants", "alice")
	b.Spec.SecretRefs = []v1alpha1.SecretRef{{Name: "vault"}}
	api := &standIn{bridges: []v1alpha1.HostedBridge{b}}
	serve(t, api)
	for name, tt := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"nobody can be asked":   {"", []string{"offboard", "alice"}, "add --yes"},
		"another user is typed": {"bob\n", []string{"offboard", "alice"}, "nothing was changed"},
		"nothing is typed":      {"\n", []string{"offboard", "alice"}, "nothing was changed"},
	} {
		if _, _, err := run(t, tt.in, tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, problems, err := run(t, "", "offboard", "alice", "--dry-run")
	for _, want := range []string{"Offboard alice\n", "tenants/alice with 1 keys", "5. the HostedBridge is deleted if a first login made it", "names: vault"} {
		if err != nil || !strings.Contains(problems, want) {
			t.Errorf("%v: no %q in\n%s", err, want, problems)
		}
	}
	if len(api.written) > 0 {
		t.Fatalf("written: %q", api.written)
	}
	for _, tt := range []struct {
		in   string
		args []string
		done string
	}{
		{"alice\n", []string{"offboard", "alice"}, "offboarded"}, {"", []string{"offboard", "alice", "--yes"}, "offboarded"},
		{"", []string{"suspend", "alice", "--installation=hb"}, "suspended"}, {"", []string{"resume", "alice"}, "resumed"},
	} {
		out, _, err := run(t, tt.in, tt.args...)
		if err != nil || out != "bridgeperson.hostedbridge.dev/user.alice "+tt.done+"\n" {
			t.Errorf("%q: %v %q", tt.args, err, out)
		}
	}
	if len(api.written) != 4 || !strings.HasPrefix(api.written[0], "bridgepersons/user.alice by kubectl-bridge ") || !strings.Contains(api.written[0], `"access":"Offboarded"`) ||
		!strings.Contains(api.written[2], `"access":"Suspended"`) || !strings.Contains(api.written[3], `"access":"Allowed"`) {
		t.Errorf("written: %q", api.written)
	}
}

func TestNearestNames(t *testing.T) {
	names := []string{"alice", "bob", "carol", "caroline", "al"}
	for name, want := range map[string]string{"alcie": "alice", "alice": "alice", "carol": "carol, caroline", "bbo": "bob", "zzz": "", "car": "carol, caroline"} {
		if got := nearest(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestVersionAndSelf(t *testing.T) {
	if out, _, err := run(t, "", "--version"); err != nil || strings.TrimSpace(out) == "" {
		t.Errorf("%v %q", err, out)
	}
	program := must.Value(os.Executable())(t)
	if out, _, err := run(t, "", "self"); err != nil || !bytes.Equal([]byte(out), must.Value(os.ReadFile(program))(t)) {
		t.Errorf("%v, %d bytes", err, len(out))
	}
}
