// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// root is the repository's, from this folder.
	root = "../.."

	// installTimeout bounds a cluster's start and an installation in it; the
	// two together take about half a minute.
	installTimeout = 5 * time.Minute
)

// backup is what docs/operations/backup.md has one keep.
type backup struct {
	// folder has the files, and commands what the document says, in its order.
	folder   string
	commands []string

	// listed is what was said of the secrets then, and token one of them.
	listed userSecrets
	token  string
}

// The commands of docs/operations/backup.md, in its order.
const (
	commandsTake = iota
	commandsOpen
	commandsRing
	commandsPeople
	commandsBridges
	commandsRestore
	commandsInAll
)

// backedUp makes a tenant with secrets and takes the backup.
func backedUp(t *testing.T) (tenant, backup) {
	t.Helper()
	nora := newGuardedTenant(t, "nora", left)
	token := left.token(t)
	mustPut(t, nora, left.secret, token, http.StatusCreated)
	mustPut(t, nora, "credentials.json", `{"key":"value"}`, http.StatusCreated)
	awaitPresented(t, nora, left, token)
	kept := backup{folder: t.TempDir(), commands: documented(t), listed: listSecrets(t, nora), token: token}
	must.Succeed(t, gobuild.Age(t.Context(), root, kept.folder))
	kept.run(t, installed, commandsTake)
	kept.run(t, installed, commandsOpen)
	// From here on there is what a Job wrote alone.
	kept.schedule(t)
	kept.run(t, installed, commandsOpen)
	return nora, kept
}

// reader mounts the claim of backups. Its image has Node.js, and no shell.
const reader = `{apiVersion: v1, kind: Pod, metadata: {name: backup-reader}, spec: {
  securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}},
  terminationGracePeriodSeconds: 0,
  containers: [{name: reader, image: IMAGE, command: [node, -e, "setInterval(() => {}, 1e6)"], volumeMounts: [{name: backups, mountPath: /backups}],
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}],
  volumes: [{name: backups, persistentVolumeClaim: {claimName: hosted-bridge-backup}}]}}`

// readsBackup writes the one backup of the claim.
const readsBackup = `const fs = require("fs")
process.stdout.write(fs.readFileSync("/backups/" + fs.readdirSync("/backups").find((name) => name.endsWith(".tar.gz.age"))))`

const claimOfBackups = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hosted-bridge-backup}, spec: {
  accessModes: [ReadWriteOnce], resources: {requests: {storage: 16Mi}}}}`

// schedule has the CronJob of the chart take a backup into a claim, and puts it in the place
// of the one that was taken by hand.
func (b backup) schedule(t *testing.T) {
	t.Helper()
	const in = "--namespace=" + systemNamespace
	recipient := must.Value(exec.CommandContext(t.Context(), filepath.Join(b.folder, "age-keygen"), "-y", filepath.Join(b.folder, "backup-key.txt")).Output())(t)
	job := string(must.Value(os.ReadFile(filepath.Join(root, "test/testdata/backup/backup.yaml")))(t))
	rights := string(must.Value(os.ReadFile(filepath.Join(root, "test/testdata/backup/rbac-backup.yaml")))(t))
	job = strings.ReplaceAll(job, "age1recipient", strings.TrimSpace(string(recipient)))
	all := strings.Join([]string{claimOfBackups, rights, job, strings.ReplaceAll(reader, "IMAGE", installed.servers)}, "\n---\n")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		if out, err := installed.runKubectl(ctx, all, "delete", in, "--ignore-not-found", "--filename=-"); err != nil {
			t.Errorf("delete what takes backups: %v: %s", err, out)
		}
	})
	if out, err := installed.runKubectl(t.Context(), all, "apply", in, "--filename=-"); err != nil {
		t.Fatalf("apply what takes backups: %v: %s", err, out)
	}
	mustKubectl(t, "create", "job", in, "--from=cronjob/hosted-bridge-backup", "backup-now")
	mustKubectl(t, "wait", in, "--for=condition=Complete", "--timeout=90s", "job/backup-now")
	mustKubectl(t, "wait", in, "--for=jsonpath={.status.lastSuccessfulTime}", "--timeout=90s", "cronjob/hosted-bridge-backup")
	t.Log(mustKubectl(t, "logs", in, "job/backup-now"))
	mustKubectl(t, "wait", in, "--for=condition=Ready", "--timeout=90s", "pod/backup-reader")
	content := mustOutput(t, "exec", in, "backup-reader", "--", "node", "-e", readsBackup)
	must.Succeed(t, os.WriteFile(filepath.Join(b.folder, "backup.tar.gz.age"), content, 0o600))
	for file := range strings.SplitSeq("people requests recipes bridges envelopes salts ring", " ") {
		must.Succeed(t, os.Remove(filepath.Join(b.folder, file+".json")))
	}
}

// documented returns the shell commands of docs/operations/backup.md, those of
// each block together.
func documented(t *testing.T) (commands []string) {
	t.Helper()
	text := must.Value(os.ReadFile(filepath.Join(root, "docs/operations/backup.md")))(t)
	for n, part := range strings.Split(string(text), "```") {
		if block, ok := strings.CutPrefix(part, "sh\n"); ok && n%2 == 1 {
			commands = append(commands, block)
		}
	}
	if len(commands) != commandsInAll {
		t.Fatalf("the document has %d blocks of commands, want %d", len(commands), commandsInAll)
	}
	return commands
}

// run runs a block of the document's commands against the installation, among
// the backup's files.
func (b backup) run(t *testing.T, at *installation, block int) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		`kubectl() { "$KUBECTL" --kubeconfig="$KUBECONFIG" "$@"; }`+"\n"+b.commands[block])
	kubeconfig := must.Value(filepath.Abs(at.kubeconfig))(t)
	cmd.Dir, cmd.Env = b.folder, append(os.Environ(), "KUBECTL="+at.kubectl, "KUBECONFIG="+kubeconfig, "PATH="+b.folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the document's commands fail: %v\n%s\n%s", err, b.commands[block], out)
	}
	return string(out)
}

// secretsOutliveTheirCluster restores the backup into a cluster that has
// nothing, as docs/operations/backup.md says.
func secretsOutliveTheirCluster(t *testing.T, nora tenant, kept backup) {
	restored := nora
	restored.at = elsewhere(t, nora, kept)
	kept.run(t, restored.at, commandsBridges)
	kubectlAt(t, restored.at, "wait", "--for=condition=Ready", "--timeout=90s", "hostedbridge/"+nora.name)
	if s := listSecrets(t, restored).Secrets; len(s) != 0 {
		t.Fatalf("before the restoration there are %d secrets", len(s))
	}
	if _, err := whoami(t.Context(), newHTTPClient(false), restored, left); err == nil {
		t.Fatal("the tool answers before its secret is restored")
	}

	t.Log(kept.run(t, restored.at, commandsRestore))
	awaitPresented(t, restored, left, kept.token)
	if diff := cmp.Diff(kept.listed, listSecrets(t, restored)); diff != "" {
		t.Errorf("what is said of the secrets (-before +restored):\n%s", diff)
	}
	uid := kubectlAt(t, restored.at, "get", "hb", nora.name, "--output=jsonpath={.metadata.uid}")
	if uid == string(nora.uid) {
		t.Error("the restored HostedBridge has the UID of the first, so that nothing was shown")
	}
}

// kubectlAt runs kubectl on an installation, in the namespace of the run.
func kubectlAt(t *testing.T, at *installation, args ...string) string {
	t.Helper()
	out, err := at.runKubectl(t.Context(), "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// elsewhere returns an installation that knows nothing of the tenant, with the
// ring and the guarded servers. Only a local cluster can have another one
// beside it; on any other the tenant is deleted.
func elsewhere(t *testing.T, n tenant, kept backup) *installation {
	t.Helper()
	if os.Getenv("CLUSTER") != "local" {
		t.Log("the cluster is not local: restored into the same one, once all of the tenant is gone from it")
		kept.only(t, n)
		mustKubectl(t, "delete", "hb", n.name)
		wait.NoError(t, wait.Limit, "the bridge and its objects are gone", func(ctx context.Context) error {
			return errors.Join(gone(ctx, n.name), remains(ctx, n.uid))
		})
		return installed
	}
	at := emptyCluster(t, kept)
	for _, object := range append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installed.namespace}},
	}, installed.guardedObjects()...) {
		if err := at.client.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	// What an installation brings with it is in the backup too.
	kubectlAt(t, at, "delete", "hostedbridges", "--namespace=tenants", "--all")
	return at
}

// only takes the backup again, of one tenant: the others are still there.
func (b backup) only(t *testing.T, n tenant) {
	t.Helper()
	for file, object := range map[string]string{
		"bridges.json": "hostedbridge/" + n.name, "envelopes.json": "secret/" + n.name + "-envelopes", "salts.json": "secret/" + n.name + "-salt",
	} {
		content := mustOutput(t, "get", object, "--output=json")
		must.Succeed(t, os.WriteFile(filepath.Join(b.folder, file), content, 0o600))
	}
}

// emptyCluster starts another local cluster, gives it the ring, installs there
// as `make up` does, restores the people and the catalog, and ends it with the
// test.
func emptyCluster(t *testing.T, kept backup) *installation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	port := freePort(t)
	folder := filepath.Dir(installed.kubeconfig)
	name := filepath.Base(folder) + "-restored"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		inRoot(ctx, t, nil, "bin/cluster", "down", "--name="+name)
	})
	inRoot(ctx, t, nil, "bin/cluster", "up", "--name="+name, "--port="+port, "--pause=bin/images/pause.tar")

	at := *installed
	at.url, at.kubeconfig = "http://127.0.0.1:"+port, filepath.Join(filepath.Dir(folder), name, "kubeconfig")
	must.Succeed(t, at.connect())
	kept.run(t, &at, commandsRing)
	inRoot(ctx, t, []string{"CLUSTER=local", "NAME=" + name, "PORT=" + port}, "hack/up/up.sh")
	// What make up brings with it is in the backup too.
	kubectlAt(t, &at, "delete", "--namespace="+systemNamespace, "bridgeprofile/first")
	kept.run(t, &at, commandsPeople)
	for _, file := range []string{"people.json", "recipes.json"} {
		kubectlAt(t, &at, "get", "--namespace="+systemNamespace, "--filename="+filepath.Join(kept.folder, file))
	}
	return &at
}

// inRoot runs a program in the repository's root. Its standard output may show
// the keys that it makes, and goes nowhere.
func inRoot(ctx context.Context, t *testing.T, environment []string, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "./"+program, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env = root, append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, said.String())
	}
	t.Logf("%s %s took %s", program, strings.Join(args, " "), time.Since(start).Round(time.Second))
}

// freePort returns a port that nobody listens on at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
