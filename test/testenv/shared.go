// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sharedVariable names the folder of the control planes that packages share. Each has a
// folder in it, with these files. A package has a control plane for itself while it
// runs, as if it had started one, and leaves the next package what it found.
const (
	sharedVariable = "TESTENV_SHARED"

	lockFile       = "lock"       // is held by the package that has the control plane.
	kubeconfigFile = "kubeconfig" // of an administrator.
	etcdFile       = "etcd"       // the URL of its etcd.
	baselineFile   = "baseline"   // what etcd had before the first package, as etcd's JSON.
)

// Share starts a control plane for packages to share, and writes its files into the
// folder.
func Share(folder string) (*envtest.Environment, error) {
	e, err := start()
	if err != nil {
		return nil, err
	}
	baseline, err := etcd(e.ControlPlane.Etcd.URL.String()).read()
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	text, err := json.Marshal(baseline)
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	err = os.MkdirAll(folder, 0o700)
	for file, content := range map[string][]byte{
		kubeconfigFile: e.KubeConfig, etcdFile: []byte(e.ControlPlane.Etcd.URL.String()), baselineFile: text, lockFile: nil,
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, file), content, 0o600))
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// acquire returns how to reach a shared control plane that nobody else has, until
// release. Without one that is free it returns nil.
func acquire() (c *rest.Config, release func() error, err error) {
	locks, err := filepath.Glob(filepath.Join(os.Getenv(sharedVariable), "*", lockFile))
	if os.Getenv(sharedVariable) == "" || err != nil {
		return nil, nil, err
	}
	for _, path := range locks {
		// The end of the process releases the lock too.
		lock, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			if err := lock.Close(); err != nil {
				return nil, nil, err
			}
			continue
		}
		if c, err = clean(filepath.Dir(path)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("clean the control plane of %s: %w", path, err), lock.Close())
		}
		return c, lock.Close, nil
	}
	return nil, nil, nil
}

// clean removes what the package before has left in a shared control plane.
func clean(folder string) (*rest.Config, error) {
	c, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, kubeconfigFile))
	if err != nil {
		return nil, err
	}
	// As start has it.
	c.QPS, c.Burst = -1, -1
	address, err := os.ReadFile(filepath.Join(folder, etcdFile))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(folder, baselineFile))
	if err != nil {
		return nil, err
	}
	var baseline []entry
	if err := json.Unmarshal(text, &baseline); err != nil {
		return nil, err
	}
	hadPolicies, err := etcd(address).reset(baseline)
	if err != nil || !hadPolicies {
		return c, err
	}
	return c, awaitPolicies(c)
}

// awaitPolicies returns when the API server has forgotten the admission policies that
// were removed. It reads all of them from time to time: once a new one holds, it knows
// no older ones.
func awaitPolicies(c *rest.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	defer cancel()
	k, err := client.New(c, client.Options{})
	if err != nil {
		return err
	}
	const name = "admission-policies-are-read"
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			ResourceNames: []string{name},
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			},
		}}},
		Validations: []admissionv1.Validation{{Expression: "false"}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	if err := errors.Join(k.Create(ctx, policy), k.Create(ctx, binding)); err != nil {
		return err
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	err = apiwait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsInvalid(k.Create(ctx, probe.DeepCopy(), client.DryRunAll)), nil
	})
	return errors.Join(err, k.Delete(ctx, binding), k.Delete(ctx, policy))
}

// etcd is the URL of an etcd, which is asked by its gateway for JSON.
type etcd string

// entry is a key of etcd with its value.
type entry struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// registry is the prefix of all that an API server keeps, and what follows it.
const registry, afterRegistry = "/registry/", "/registry0"

// read returns everything that the API server keeps.
func (e etcd) read() ([]entry, error) {
	var all struct {
		Entries []entry `json:"kvs"`
	}
	err := e.ask("/v3/kv/range", map[string][]byte{"key": []byte(registry), "range_end": []byte(afterRegistry)}, &all)
	return all.Entries, err
}

// reset removes what the baseline does not have, and puts back what it has otherwise.
// It reports whether admission policies were removed.
func (e etcd) reset(baseline []entry) (hadPolicies bool, err error) {
	now, err := e.read()
	if err != nil {
		return false, err
	}
	before := map[string][]byte{}
	for _, b := range baseline {
		before[string(b.Key)] = b.Value
	}
	var changes []any
	for _, n := range now {
		value, ok := before[string(n.Key)]
		delete(before, string(n.Key))
		switch {
		case strings.Contains(string(n.Key), "leases/"): // The API server renews them.
		case !ok:
			hadPolicies = hadPolicies || strings.Contains(string(n.Key), "admissionpolic")
			changes = append(changes, map[string]any{"request_delete_range": map[string]any{"key": n.Key}})
		case !bytes.Equal(value, n.Value):
			changes = append(changes, put(n.Key, value))
		}
	}
	for key, value := range before {
		changes = append(changes, put([]byte(key), value))
	}
	// etcd takes up to 128 at a time.
	for some := range slices.Chunk(changes, 100) {
		if err := e.ask("/v3/kv/txn", map[string]any{"success": some}, &struct{}{}); err != nil {
			return false, err
		}
	}
	return hadPolicies, nil
}

func put(key, value []byte) any {
	return map[string]any{"request_put": map[string]any{"key": key, "value": value}}
}

func (e etcd) ask(path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, string(e)+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	// No connection stays for goleak to find.
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: wait.Limit}
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s to %s", response.Status, path)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
