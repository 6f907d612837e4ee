// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// kubectl stands for kubectl in the documentation's commands: the real one, and
// where a command is to run in the keybroker's pod, this test binary.
const kubectl = `#!/bin/sh
if [ "$1" = exec ]; then
	while [ "$1" != -- ]; do shift; done
	[ "$2" = /keybroker ] || { echo "what is run is $2" >&2; exit 1; }
	shift 2
	[ "$1" = backup ] || set -- "$@" --master-key-dir=%[3]s
	%[1]s=1 exec %[2]s "$@" --kubeconfig=%[4]s
fi
exec %[5]s/kubectl --kubeconfig=%[6]s "$@"
`

// inYAML restores what is there, printed in the other form.
const inYAML = `{
	kubectl get hostedbridges --namespace=%[1]s --output=yaml
	echo ---
	kubectl get secrets --namespace=%[1]s --selector=app.kubernetes.io/managed-by=hosted-bridge-keybroker --output=yaml
} | kubectl exec --stdin deploy/hosted-bridge-keybroker -- /keybroker restore`

// drill runs the commands of docs/operations/backup.md.
type drill struct {
	*administered

	folder string
	blocks []string
}

func newDrill(t *testing.T, a *administered) *drill {
	t.Helper()
	d := &drill{administered: a, folder: t.TempDir()}
	content := must.Value(os.ReadFile("../../docs/operations/backup.md"))(t)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(content), -1) {
		d.blocks = append(d.blocks, block[1])
	}
	if len(d.blocks) != restoreSecrets+1 {
		t.Fatalf("backup.md has %d blocks of commands, and the test knows %d", len(d.blocks), restoreSecrets+1)
	}
	must.Succeed(t, gobuild.Age(t.Context(), "../..", d.folder))
	script := fmt.Sprintf(kubectl, asKeybroker, os.Args[0], a.ring, a.kubeconfig, os.Getenv("KUBEBUILDER_ASSETS"), testenv.Kubeconfig(t))
	must.Succeed(t, os.WriteFile(filepath.Join(d.folder, "kubectl"), []byte(script), 0o755))
	return d
}

// The blocks.
const (
	takeBackup = iota
	openBackup
	restoreRing
	restorePeople
	restoreBridges
	restoreSecrets
)

// do runs a block and returns what it says.
func (d *drill) do(block int) (string, error) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "sh", "-e", "-c", d.blocks[block])
	cmd.Dir = d.folder
	cmd.Env = append(os.Environ(), "PATH="+d.folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if strings.Contains(said.String(), adminCanary) {
		d.t.Error("the drill shows a value")
	}
	return said.String(), err
}

func (d *drill) mustDo(block int) string {
	d.t.Helper()
	said, err := d.do(block)
	if err != nil {
		d.t.Fatalf("%v: %s\n%s", err, said, d.blocks[block])
	}
	return said
}

// lose removes all HostedBridges with their Secrets, and the ring.
func (d *drill) lose() {
	d.t.Helper()
	d.deleteBridges(d.t.Context())
	must.Succeed(d.t, d.client.Delete(d.t.Context(), ringSecret()))
}

func (d *drill) values(name string) map[string]string {
	d.t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name}}
	testenv.ExpectExists(d.t, d.client, b)
	opened, err := d.Store.Open(d.t.Context(), secretstore.Bridge{Namespace: d.namespace, Name: name, UID: b.UID})
	if err != nil || len(opened.Unreadable) > 0 {
		d.t.Fatal(opened.Unreadable, err)
	}
	values := map[string]string{}
	for name, value := range opened.Values {
		values[name] = string(value)
	}
	return values
}

func TestTheDrillOfTheDocumentation(t *testing.T) {
	a := administer(t)
	d := newDrill(t, a)
	alice := map[string]string{"GITHUB_TOKEN": adminCanary, "credentials.json": `{"key": "` + adminCanary + `"}`, "EMPTY": ""}
	before := a.bridgeWith("alice", alice)
	a.bridgeWith("bob", map[string]string{"A": adminCanary})
	a.bridgeWith("carol", nil)
	a.sharedWith("payments", "PAY_TOKEN", adminCanary)

	people := newPeople(d, before)

	d.mustDo(takeBackup)
	d.lose()
	people.lose()
	d.mustDo(openBackup)
	for _, file := range []string{"envelopes.json", "salts.json"} {
		content, err := os.ReadFile(filepath.Join(d.folder, file))
		if err != nil || strings.Count(string(content), `"kind":"Secret"`) != 3 {
			t.Fatalf("%s has not three Secrets, or error %v", file, err)
		}
	}
	d.mustDo(restoreRing)
	ring := ringSecret()
	testenv.ExpectExists(t, a.client, ring)
	if diff := cmp.Diff(ringOf(t, a.ring).Data, ring.Data); diff != "" {
		t.Error("the ring is another one")
	}
	d.mustDo(restorePeople)
	people.expectRestored()
	d.mustDo(restoreBridges)
	after := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "alice"}}
	testenv.ExpectExists(t, a.client, after)
	if after.UID == before.UID {
		t.Error("the restored HostedBridge has the UID of the first, so that nothing was shown")
	}

	people.expectNoAccessTo(after)
	people.expectApprovedFor(after)

	said := d.mustDo(restoreSecrets)
	a.expect(said, "restored "+a.namespace+"/alice: 3 secrets", "restored "+shipped().Namespace+"/shared/payments: 1 secrets", "nothing was written", "3 restored, 0 unchanged, 0 skipped, 0 refused",
		"5 secrets of 3 HostedBridges and 1 SharedServers: local:1 5", "everything opens")
	restored := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: "payments"}}
	testenv.ExpectExists(t, a.client, restored)
	listing, err := a.Store.List(t.Context(), secretstore.Shared(restored.Namespace, restored.Name, restored.UID))
	if entry, _ := listing.Find("PAY_TOKEN"); err != nil || entry.Origin != "https://pay.example.com" {
		t.Errorf("the shared secret is for %q, %v", entry.Origin, err)
	}
	if diff := cmp.Diff(alice, d.values("alice")); diff != "" {
		t.Errorf("alice's secrets (-before +restored):\n%s", diff)
	}
	said = d.mustDo(restoreSecrets)
	a.expect(said, "0 restored, 3 unchanged, 0 skipped, 0 refused")
	d.blocks = append(d.blocks, fmt.Sprintf(inYAML, a.namespace))
	a.expect(d.mustDo(restoreSecrets+1), "0 restored, 2 unchanged, 0 skipped, 0 refused")

	// Whose HostedBridge was deleted since stays shredded: the salt is in no
	// later backup, and the envelopes of the earlier one do not open.
	testenv.ExpectExists(t, a.client, after)
	for _, name := range []string{"alice-salt", "alice-envelopes"} {
		must.Succeed(t, a.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}}))
	}
	must.Succeed(t, os.WriteFile(filepath.Join(d.folder, "salts.json"), nil, 0o600))
	said, err = d.do(restoreSecrets)
	if err == nil {
		t.Error("without salts the drill succeeds")
	}
	a.expect(said, "skipped "+a.namespace+"/alice: the backup has no salt for it", "0 restored, 0 unchanged, 3 skipped, 0 refused", "not everything was restored")
	if left := d.values("alice"); len(left) > 0 {
		t.Errorf("alice has %d secrets", len(left))
	}
}
