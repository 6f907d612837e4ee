// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// maxSecret is the largest value that a secret can have.
	maxSecret = 64 << 10
)

// TestUsersSecrets restores a backup in another cluster while it does all else
// in this one.
func TestUsersSecrets(t *testing.T) {
	nora, kept := backedUp(t)
	t.Run("outlive their cluster", func(t *testing.T) {
		t.Parallel()
		secretsOutliveTheirCluster(t, nora, kept)
	})
	t.Run("in their cluster", func(t *testing.T) {
		t.Parallel()
		t.Run("side by side", secretsSideBySide)
		// These end the keybroker, or change its key.
		t.Run("stay where they are without a keybroker", secretsStayWithoutAKeybroker)
		t.Run("outlast the master key", secretsOutlastTheMasterKey)
	})
}

// secretsSideBySide runs at once what only touches tenants of its own: most of
// the time is spent waiting.
func secretsSideBySide(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"reach the servers that name them, and no others":    secretsReachTheServersThatNameThem,
		"are bounded in number, size and name":               secretsAreBounded,
		"are nobody else's to see or change":                 secretsAreNobodyElses,
		"are kept from Secrets that the HostedBridge names":  secretsAreKeptFromSources,
		"of a deleted HostedBridge open for nobody any more": secretsOfADeletedBridgeStayClosed,
		"are nowhere but where they are used":                secretsAreNowhereElse,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func secretsReachTheServersThatNameThem(t *testing.T) {
	dora := newGuardedTenant(t, "dora", left, right)
	pod := bridgePod(t, dora.uid)
	first, second, other := left.token(t), left.token(t), right.token(t)

	// Neither is set: both are out of service, the third one works.
	awaitOutOfService(t, dora, left, right)
	missing := awaitSecrets(t, dora, metav1.ConditionFalse, v1alpha1.ReasonSecretsMissing)
	for _, g := range []*guard{left, right} {
		if !strings.Contains(missing.Message, g.secret) {
			t.Errorf("the condition's message does not name %s: %s", g.secret, missing.Message)
		}
	}
	awaitHealth(t, dora, map[string]string{
		"open": "", left.name: "secret LEFT_TOKEN is not set", right.name: "secret RIGHT_TOKEN is not set",
	})

	mustPut(t, dora, left.secret, first, http.StatusCreated)
	seen := awaitPresented(t, dora, left, first)
	mentionsNoOther(t, seen)
	awaitOutOfService(t, dora, right)

	mustPut(t, dora, right.secret, other, http.StatusCreated)
	before := awaitPresented(t, dora, right, other)
	mentionsNoOther(t, before)
	if again := awaitPresented(t, dora, left, first); again.Connections != seen.Connections {
		t.Errorf("the left server saw %d connections before the right one's secret was set and %d after", seen.Connections, again.Connections)
	}
	awaitSecrets(t, dora, metav1.ConditionTrue, v1alpha1.ReasonSealed)

	mustPut(t, dora, left.secret, second, http.StatusOK)
	awaitPresented(t, dora, left, second)
	if after := awaitPresented(t, dora, right, other); after.Connections != before.Connections {
		t.Errorf("the right server saw %d connections before the left one's secret changed and %d after", before.Connections, after.Connections)
	}

	mustDelete(t, dora, left.secret)
	awaitOutOfService(t, dora, left)
	awaitPresented(t, dora, right, other)
	missing = awaitSecrets(t, dora, metav1.ConditionFalse, v1alpha1.ReasonSecretsMissing)
	if !strings.Contains(missing.Message, left.secret) || strings.Contains(missing.Message, right.secret) {
		t.Errorf("the condition's message is %q, want %s in it and not %s", missing.Message, left.secret, right.secret)
	}
	awaitHealth(t, dora, map[string]string{"open": "", left.name: "secret LEFT_TOKEN is not set", right.name: ""})
	isSamePod(t, dora, pod)
}

// mentionsNoOther reports headers that no bridge has a reason to send. A
// secret that was sent along would be in one.
func mentionsNoOther(t *testing.T, p presented) {
	t.Helper()
	expected := []string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "Hosted-Bridge-Hops", "User-Agent"}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		if !slices.Contains(expected, name) && !strings.HasPrefix(name, "Mcp-") {
			t.Errorf("the server is sent a header %s, want only %v and MCP's own", name, expected)
		}
		if len(p.Headers[name]) != 1 {
			t.Errorf("the server is sent %d headers %s, want 1", len(p.Headers[name]), name)
		}
	}
}

func secretsAreBounded(t *testing.T) {
	edna := newGuardedTenant(t, "edna", left)
	names := []string{"A", "B_2", "credentials.json", "D", left.secret}
	want := map[string]int{}
	for i, name := range names {
		want[name] = maxSecret - i
		mustPut(t, edna, name, strings.Repeat("x", want[name]), http.StatusCreated)
	}
	refusals := []struct {
		name, method, secret, value string
		status                      int
		code                        string
	}{
		{"one more than the tier allows", http.MethodPut, "ONE_MORE", "x", http.StatusConflict, "secret_limit_reached"},
		{"a byte too many", http.MethodPut, "A", strings.Repeat("x", maxSecret+1), http.StatusRequestEntityTooLarge, "body_too_large"},
		{"no bytes", http.MethodPut, "A", "", http.StatusBadRequest, "secret_empty"},
		{"a name in small letters", http.MethodPut, "token", "x", http.StatusBadRequest, "secret_name_invalid"},
		{"a name that begins with a dot", http.MethodPut, ".index", "x", http.StatusNotFound, "not_found"},
		{"a name with a path", http.MethodPut, "..%2f..%2fsecrets", "x", http.StatusNotFound, "not_found"},
		{"a name of 65 letters", http.MethodPut, strings.Repeat("A", 65), "x", http.StatusBadRequest, "secret_name_invalid"},
		{"the deletion of what is not there", http.MethodDelete, "NOBODY", "", http.StatusNotFound, "secret_not_found"},
		{"a look at what is not there", http.MethodGet, "NOBODY", "", http.StatusNotFound, "secret_not_found"},
		{"another method", http.MethodPatch, "A", "x", http.StatusMethodNotAllowed, "method_not_allowed"},
	}
	for _, r := range refusals {
		if a := askSecrets(t, edna, r.method, "/"+r.secret, r.value); a.status != r.status || a.code() != r.code {
			t.Errorf("%s: status %d %q, want %d %q", r.name, a.status, a.code(), r.status, r.code)
		}
	}
	mustPut(t, edna, "A", "replaced", http.StatusOK)
	want["A"] = len("replaced")
	list := listSecrets(t, edna)
	got := map[string]int{}
	for _, s := range list.Secrets {
		got[s.Name] = s.Size
		if s.Created.IsZero() || s.Updated.Before(s.Created) || s.KeyVersion < 1 || s.Source != "" {
			t.Errorf("%s was created at %s, updated at %s, is under key version %d, of source %q", s.Name, s.Created, s.Updated, s.KeyVersion, s.Source)
		}
		servers := []string{}
		if s.Name == left.secret {
			servers = []string{left.name}
		}
		if diff := cmp.Diff(servers, s.Servers); diff != "" {
			t.Errorf("servers of %s (-want +got):\n%s", s.Name, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list's sizes (-want +got):\n%s", diff)
	}
	if list.Limit == nil || *list.Limit != len(names) {
		t.Errorf("the list has no limit of %d", len(names))
	}
	// One that goes makes room for another.
	mustDelete(t, edna, "A")
	mustPut(t, edna, "ONE_MORE", "x", http.StatusCreated)
}

func secretsAreNobodyElses(t *testing.T) {
	faye, gus := newTenant(t, "faye", "everything"), newTenant(t, "gus", "everything")
	value := newToken()
	mustPut(t, faye, "TOKEN", value, http.StatusCreated)
	requests := []struct{ method, path, value string }{
		{http.MethodGet, "", ""},
		{http.MethodGet, "/TOKEN", ""},
		{http.MethodPut, "/TOKEN", "not theirs"},
		{http.MethodPut, "/TOKEN", strings.Repeat("x", maxSecret+1)},
		{http.MethodPut, "/OTHER", "not theirs"},
		{http.MethodDelete, "/TOKEN", ""},
		{http.MethodDelete, "/OTHER", ""},
	}
	for _, c := range []struct{ name, key string }{{"no key", ""}, {"a key that nobody has", mint(t).secret}, {"another user's key", gus.key.secret}} {
		for _, r := range requests {
			ask := func(user string) answer {
				a, err := send(t.Context(), newHTTPClient(false), installed.url+"/u/"+user+"/secrets"+r.path, c.key, request{method: r.method, body: r.value})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			zelda := installed.name("zelda")
			known, absent := ask(faye.name), ask(zelda)
			if known.status != http.StatusUnauthorized {
				t.Errorf("%s with %s: status %d, want 401", r.method, c.name, known.status)
			}
			if diff := cmp.Diff(strings.ReplaceAll(absent.bytes(), zelda, "USER"), strings.ReplaceAll(known.bytes(), faye.name, "USER")); diff != "" {
				t.Errorf("%s with %s tells a user from no user (-absent +known):\n%s", r.method, c.name, diff)
			}
		}
	}
	if s := listSecrets(t, faye).Secrets; len(s) != 1 || s[0].Name != "TOKEN" || s[0].Size != len(value) || s[0].Updated != s[0].Created {
		t.Errorf("after all that there are %d secrets, want the one as it was", len(s))
	}
	if s := listSecrets(t, gus).Secrets; len(s) != 0 {
		t.Errorf("gus has %d secrets, want none", len(s))
	}
}

func secretsAreKeptFromSources(t *testing.T) {
	kept, once := installed.name("kept"), installed.name("once")
	first, second, other := left.token(t), left.token(t), right.token(t)
	createSource(t, kept, map[string]string{"token": first, "not-asked-for": newToken()})
	createSource(t, once, map[string]string{right.secret: other})

	hal := tenant{name: installed.name("hal"), key: mint(t)}
	b := guardedBridge(hal.name, []credential{hal.key}, left, right)
	b.Spec.SecretRefs = []v1alpha1.SecretRef{
		{Name: kept, Keys: []v1alpha1.SecretRefKey{{Key: "token", As: v1alpha1.SecretName(left.secret)}}},
		{Name: once, DeleteSource: true},
	}
	hal.uid = create(t, b)
	awaitReady(t, hal.name)
	pod := bridgePod(t, hal.uid)
	awaitPresented(t, hal, left, first)
	awaitPresented(t, hal, right, other)
	awaitSecrets(t, hal, metav1.ConditionTrue, v1alpha1.ReasonSealed)

	wait.NoError(t, wait.Limit, "the source that was to be deleted is gone", func(ctx context.Context) error {
		return sourceGone(ctx, once)
	})
	for _, s := range listSecrets(t, hal).Secrets {
		if want := map[string]string{left.secret: kept}[s.Name]; s.Source != want {
			t.Errorf("%s is of source %q, want %q", s.Name, s.Source, want)
		}
	}

	// What comes from a Secret is changed there; what came from one that is
	// gone is the user's own.
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		if a := askSecrets(t, hal, method, "/"+left.secret, map[string]string{http.MethodPut: second}[method]); a.status != http.StatusConflict || a.code() != "secret_managed" {
			t.Errorf("%s of a secret that comes from a Secret: status %d %q, want %d secret_managed", method, a.status, a.code(), http.StatusConflict)
		}
	}
	mustPut(t, hal, right.secret, other, http.StatusOK)

	changeSource(t, kept, map[string]string{"token": second})
	awaitPresented(t, hal, left, second)

	if err := installed.client.Delete(t.Context(), source(kept, nil)); err != nil {
		t.Fatalf("delete Secret %s: %v", kept, err)
	}
	if c := awaitSecrets(t, hal, metav1.ConditionFalse, v1alpha1.ReasonSourceMissing); !strings.Contains(c.Message, kept) {
		t.Errorf("the condition's message does not name %s: %s", kept, c.Message)
	}
	awaitPresented(t, hal, left, second)

	// A source that is named no more takes with it what was sealed of it.
	change(t, hal.name, func(b *v1alpha1.HostedBridge) { b.Spec.SecretRefs = b.Spec.SecretRefs[1:] })
	awaitOutOfService(t, hal, left)
	awaitPresented(t, hal, right, other)
	isSamePod(t, hal, pod)
}

// secretsOfADeletedBridgeStayClosed does what somebody does who has an old
// copy of the envelopes and may write Secrets: the salt of then is gone.
func secretsOfADeletedBridgeStayClosed(t *testing.T) {
	iris := newGuardedTenant(t, "iris", left, right)
	old, other, renewed := left.token(t), right.token(t), left.token(t)
	mustPut(t, iris, left.secret, old, http.StatusCreated)
	awaitPresented(t, iris, left, old)
	envelope := envelopesOf(t, iris).Data[left.secret]
	if len(envelope) == 0 {
		t.Fatalf("Secret %s-envelopes has no %s", iris.name, left.secret)
	}

	mustKubectl(t, "delete", "hb", iris.name)
	wait.NoError(t, wait.Limit, "the bridge and its objects are gone", func(ctx context.Context) error {
		return errors.Join(gone(ctx, iris.name), remains(ctx, iris.uid))
	})
	iris.uid = create(t, guardedBridge(iris.name, []credential{iris.key}, left, right))
	awaitReady(t, iris.name)
	mustPut(t, iris, right.secret, other, http.StatusCreated)
	awaitPresented(t, iris, right, other)

	restored := envelopesOf(t, iris)
	patch := client.MergeFrom(restored.DeepCopy())
	restored.Data[left.secret] = envelope
	if err := installed.client.Patch(t.Context(), restored, patch); err != nil {
		t.Fatalf("put the old envelope into Secret %s: %v", restored.Name, err)
	}
	awaitHealth(t, iris, map[string]string{"open": "", left.name: "secret LEFT_TOKEN cannot be opened", right.name: ""})
	awaitOutOfService(t, iris, left)
	awaitSecrets(t, iris, metav1.ConditionFalse, v1alpha1.ReasonSecretsUnreadable)
	awaitPresented(t, iris, right, other)

	// Outside is said that it does not open; why is in the keybroker's log.
	for what, text := range map[string]string{
		"the user's list":  string(askSecrets(t, iris, http.MethodGet, "", "").body),
		"the HostedBridge": mustKubectl(t, "get", "hb", iris.name, "--output=jsonpath={.status}"),
	} {
		for _, reason := range []string{"salt", "authentic", "decrypt", "damaged", "another cluster", "cipher"} {
			if strings.Contains(strings.ToLower(text), reason) {
				t.Errorf("%s says why: %q", what, text)
			}
		}
	}
	logs := keybrokerLogs(t)
	if !slices.ContainsFunc(strings.Split(logs, "\n"), func(line string) bool {
		return strings.Contains(line, left.secret) && strings.Contains(line, iris.name) && strings.Contains(line, `"WARN"`)
	}) {
		t.Errorf("no warning in the keybroker's log names %s of %s", left.secret, iris.name)
	}
	mustPut(t, iris, left.secret, renewed, http.StatusOK)
	awaitPresented(t, iris, left, renewed)
	awaitSecrets(t, iris, metav1.ConditionTrue, v1alpha1.ReasonSealed)
}

// userSecrets is what a user sees of theirs.
type userSecrets struct {
	Secrets []struct {
		Name             string
		Size             int
		Created, Updated time.Time
		KeyVersion       int32
		Source           string
		Servers          []string
	}
	Limit *int
}

// askSecrets asks with the tenant's key.
func askSecrets(t *testing.T, n tenant, method, path, body string) answer {
	t.Helper()
	a, err := send(t.Context(), newHTTPClient(false), n.base()+"/secrets"+path, n.key.secret, request{method: method, body: body})
	if err != nil {
		t.Fatalf("%s the secrets of %s: %v", method, n.name, err)
	}
	return a
}

// mustPut sets a secret. A key that has just been made reaches every ingress
// within a second.
func mustPut(t *testing.T, n tenant, name, value string, status int) {
	t.Helper()
	wait.NoError(t, wait.Limit, "secret "+name+" of "+n.name+" is set", func(context.Context) error {
		a := askSecrets(t, n, http.MethodPut, "/"+name, value)
		if slices.Contains([]int{http.StatusUnauthorized, http.StatusServiceUnavailable}, a.status) {
			return fmt.Errorf("status %d %s", a.status, a.code())
		}
		if a.status != status {
			t.Fatalf("PUT of %s: status %d %s, want %d", name, a.status, a.code(), status)
		}
		return nil
	})
}

func mustDelete(t *testing.T, n tenant, name string) {
	t.Helper()
	if a := askSecrets(t, n, http.MethodDelete, "/"+name, ""); a.status != http.StatusNoContent {
		t.Fatalf("DELETE of %s: status %d %s, want %d", name, a.status, a.code(), http.StatusNoContent)
	}
}

func listSecrets(t *testing.T, n tenant) (list userSecrets) {
	t.Helper()
	a := askSecrets(t, n, http.MethodGet, "", "")
	if err := json.Unmarshal(a.body, &list); err != nil || a.status != http.StatusOK {
		t.Fatalf("GET of the secrets of %s: status %d %s (%v)", n.name, a.status, a.code(), err)
	}
	return list
}

// code returns the code of a problem, or "".
func (a answer) code() string {
	var p struct{ Code string }
	// What is no problem has no code.
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}

// awaitSecrets waits until the condition SecretsSealed is this one, for the
// current spec.
func awaitSecrets(t *testing.T, n tenant, status metav1.ConditionStatus, reason string) (c metav1.Condition) {
	t.Helper()
	wait.NoError(t, wait.Limit, fmt.Sprintf("%s of %s is %s for %s", v1alpha1.ConditionSecretsSealed, n.name, status, reason), func(ctx context.Context) error {
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSecretsSealed)
		if found == nil || found.Status != status || found.Reason != reason || found.ObservedGeneration != b.Generation {
			return fmt.Errorf("conditions are %s", describe(b.Status.Conditions))
		}
		c = *found
		return nil
	})
	return c
}

// awaitHealth waits until the user's health report has these servers with
// these errors; one without an error is healthy.
func awaitHealth(t *testing.T, n tenant, want map[string]string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the health of "+n.name, func(ctx context.Context) error {
		a, err := send(ctx, newHTTPClient(false), n.base()+"/health", n.key.secret, request{method: http.MethodGet})
		if err != nil {
			return err
		}
		var report struct {
			Servers map[string]struct{ Status, Error string }
		}
		if err := json.Unmarshal(a.body, &report); err != nil {
			return fmt.Errorf("status %d: %w", a.status, err)
		}
		got := map[string]string{}
		for name, s := range report.Servers {
			if got[name] = s.Error; (s.Error == "") != (s.Status == "healthy") {
				return fmt.Errorf("server %s is %s with the error %q", name, s.Status, s.Error)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("errors (-want +got):\n%s", diff)
		}
		return nil
	})
}

// isSamePod reports a pod that has been replaced or started again.
func isSamePod(t *testing.T, n tenant, before corev1.Pod) {
	t.Helper()
	if now := bridgePod(t, n.uid); now.UID != before.UID || restarts(now) != restarts(before) {
		t.Errorf("the bridge of %s has another pod or has been started again", n.name)
	}
}

// envelopesOf returns the Secret that holds the tenant's envelopes.
func envelopesOf(t *testing.T, n tenant) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if err := installed.client.Get(t.Context(), types.NamespacedName{Namespace: installed.namespace, Name: n.name + "-envelopes"}, s); err != nil {
		t.Fatalf("get the envelopes of %s: %v", n.name, err)
	}
	return s
}

// keybrokerLogs returns what all keybrokers have written.
func keybrokerLogs(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, p := range podsOf(t, keybrokerName) {
		all.Write(mustOutput(t, "logs", "--namespace="+systemNamespace, p.Name))
	}
	return all.String()
}

// source is a Secret for spec.secretRefs.
func source(name string, values map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: name}, StringData: values}
}

func createSource(t *testing.T, name string, values map[string]string) {
	t.Helper()
	if err := installed.client.Create(t.Context(), source(name, values)); err != nil {
		t.Fatalf("create Secret %s: %v", name, err)
	}
}

func changeSource(t *testing.T, name string, values map[string]string) {
	t.Helper()
	s := source(name, nil)
	patch := client.MergeFrom(s.DeepCopy())
	s.StringData = values
	if err := installed.client.Patch(t.Context(), s, patch); err != nil {
		t.Fatalf("change Secret %s: %v", name, err)
	}
}

func sourceGone(ctx context.Context, name string) error {
	err := installed.client.Get(ctx, types.NamespacedName{Namespace: installed.namespace, Name: name}, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(fmt.Errorf("Secret %s is still there", name), err)
}

// change updates the HostedBridge's spec.
func change(t *testing.T, name string, edit func(*v1alpha1.HostedBridge)) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the change of "+name+" is written", func(ctx context.Context) error {
		b, err := getBridge(ctx, name)
		if err != nil {
			return err
		}
		edit(b)
		return installed.client.Update(ctx, b)
	})
}
