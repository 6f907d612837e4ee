// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// rolloutTimeout bounds the replacement of all the installation's pods.
const rolloutTimeout = 3 * time.Minute

// TestTheInstallationWorksWhereListsAreNotStreamed runs the processes as they are
// with an API server that does not begin a watch with what there is, as those
// before Kubernetes 1.34: they list first, for which they have rights that they
// do not use on this one.
func TestTheInstallationWorksWhereListsAreNotStreamed(t *testing.T) {
	const streamed = "KUBE_FEATURE_WatchListClient"
	t.Cleanup(func() { setEnvironment(t, streamed+"-") })
	setEnvironment(t, streamed+"=false")
	quinn := newGuardedTenant(t, "quinn", left)
	token := left.token(t)
	mustPut(t, quinn, left.secret, token, http.StatusCreated)
	awaitPresented(t, quinn, left, token)
}

// setEnvironment changes a variable of all processes, as kubectl set env takes
// it, and waits until all run with it. It is called in clean-ups too.
func setEnvironment(t *testing.T, variable string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), rolloutTimeout)
	defer cancel()
	processes := []string{"deployment/hosted-bridge-operator", "deployment/hosted-bridge-keybroker", "deployment/hosted-bridge-ingress"}
	commands := [][]string{append(append([]string{"set", "env"}, processes...), variable)}
	for _, process := range processes {
		commands = append(commands, []string{"rollout", "status", process})
	}
	for _, args := range commands {
		if out, err := installed.runKubectl(ctx, "", append(args, "--namespace="+systemNamespace)...); err != nil {
			t.Fatalf("kubectl %v: %v: %s", args, err, out)
		}
	}
}

// TestEachSourceThatIsToBeDeletedIs shows that the keybroker needs its right to
// delete Secrets for more than one of them: the table of rights and their use
// takes a right that was used on one name for one that could be given by name.
func TestEachSourceThatIsToBeDeletedIs(t *testing.T) {
	t.Parallel()
	first, second := installed.name("spent"), installed.name("spent-too")
	token, other := left.token(t), right.token(t)
	createSource(t, first, map[string]string{left.secret: token})
	createSource(t, second, map[string]string{right.secret: other})

	paul := tenant{name: installed.name("paul"), key: mint(t)}
	b := guardedBridge(paul.name, []credential{paul.key}, left, right)
	b.Spec.SecretRefs = []v1alpha1.SecretRef{{Name: first, DeleteSource: true}, {Name: second, DeleteSource: true}}
	paul.uid = create(t, b)
	awaitPresented(t, paul, left, token)
	awaitPresented(t, paul, right, other)
	awaitSecrets(t, paul, metav1.ConditionTrue, v1alpha1.ReasonSealed)
	wait.NoError(t, wait.Limit, "both sources are gone", func(ctx context.Context) error {
		return errors.Join(sourceGone(ctx, first), sourceGone(ctx, second))
	})
	// What came from a Secret that is gone is the user's own.
	mustPut(t, paul, left.secret, token, http.StatusOK)
}

// TestAdministratorsGiveAndTakeKeysOverHTTP is of two users, as the ingress's
// rights are on every HostedBridge.
func TestAdministratorsGiveAndTakeKeysOverHTTP(t *testing.T) {
	t.Parallel()
	boss, web := admin(t), newHTTPClient(false)
	for _, short := range []string{"rosa", "stan"} {
		n := newTenant(t, short, "everything")
		path := "/admin/users/" + n.name + "/keys"
		var made struct{ Key, ID string }
		boss.must(t, http.StatusCreated, http.MethodPost, path, `{"name":"laptop","expires":"1h"}`).into(t, &made)
		wait.NoError(t, wait.Limit, "the new key opens the bridge of "+n.name, func(ctx context.Context) error {
			return allowed(ctx, web, n.url(), made.Key)
		})
		boss.must(t, http.StatusNoContent, http.MethodDelete, path+"/"+made.ID, "")
		wait.NoError(t, wait.Limit, "the new key opens it no more", func(ctx context.Context) error {
			if err := allowed(ctx, web, n.url(), made.Key); !errors.Is(err, errRefused) {
				return fmt.Errorf("want a refusal: %w", errors.Join(err, errors.New("allowed")))
			}
			return nil
		})
		if err := allowed(t.Context(), web, n.url(), n.key.secret); err != nil {
			t.Errorf("the user's own key: %v", err)
		}
	}
}

// TestAdministratorsFreeTheNamesOfRecipes is of two for the same reason.
func TestAdministratorsFreeTheNamesOfRecipes(t *testing.T) {
	t.Parallel()
	boss, p := admin(t), newPublisher(t, "freed")
	for _, short := range []string{"freed", "freed-too"} {
		name := installed.name(short)
		file := p.signed(t, remote(name, left, "1.0.0"))
		p.mustPublish(t, name, file)
		p.must(t, http.StatusNoContent, http.MethodDelete, "/recipes/"+name, "", "If-Match", "*")
		boss.must(t, http.StatusNoContent, http.MethodDelete, "/admin/recipes/"+name, "", "If-Match", "*")
		// The same version is nobody's now, and may be published again.
		p.must(t, http.StatusCreated, http.MethodPost, "/recipes", file)
	}
}
