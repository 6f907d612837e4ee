// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// fault is what somebody did wrong, and what each place says of it then. Empty places say nothing.
type fault struct {
	// registry means that the fault is seen only where npm's registry is reached.
	registry bool
	make     func(t *testing.T, b *v1alpha1.HostedBridge)
	// kubectl and event are in the conditions and in the events of the HostedBridge.
	kubectl, event string
	// page and console are a page of the user's console and what is on it.
	page, console string
	// tool and client are a tool that a client calls, and what it gets.
	tool, client string
	// overview is the reason among the problems that administrators see.
	overview string
	// alert is the series of the operator by which Prometheus alerts.
	alert string
}

// pace is how often a place is looked at: one address may ask for so many pages in a second, and other
// tests ask too.
const pace = 500 * time.Millisecond

// absent is a package that npm's registry does not have.
const absent = "@hosted-bridge-example/absent"

// faults are the mistakes of the table in docs/troubleshooting.md.
var faults = map[string]fault{
	"a package that is installed beforehand does not exist": {
		registry: true,
		make: func(_ *testing.T, b *v1alpha1.HostedBridge) {
			b.Spec.Servers = append(b.Spec.Servers, installs("absent", absent, "1.0.0"))
		},
		kubectl: "could not be installed: The registry has no package " + absent, event: v1alpha1.ReasonProgramsNotInstalled,
		page: "/servers/absent", console: "The registry has no package", tool: "absent_x", client: "The registry has no package",
		overview: "OutOfService",
	},
	"a package that npx fetches does not exist": {
		registry: true,
		make: func(_ *testing.T, b *v1alpha1.HostedBridge) {
			s := installs("npx", absent, "1.0.0")
			// A bundle has no such option, so this stays with npx.
			s.Transport.Stdio.Command = []string{"npx", "--loglevel=error", "-y", absent + "@1.0.0"}
			b.Spec.Servers = append(b.Spec.Servers, s)
		},
		kubectl: "could not fetch its package: The registry has no package " + absent, event: v1alpha1.ReasonServersUnhealthy,
		page: "/servers/npx", console: "correct the name or the version", tool: "npx_x", client: "could not fetch its package: The registry has no package",
		overview: "PackageNotFound",
	},
	"a program ends": {
		make: func(_ *testing.T, b *v1alpha1.HostedBridge) {
			s := npmServer("ends", "server-memory")
			s.Transport.Stdio.Command = []string{"node", "-e", `console.error("I need a region"); process.exit(3)`}
			b.Spec.Servers = append(b.Spec.Servers, s)
		},
		kubectl: "-bridge --container=stdio-ends", event: "ended with status 3 before it sent a message",
		page: "/servers/ends", console: "I need a region", tool: "ends_x", client: "I need a region",
		overview: "ProgramEnded",
	},
	"a quota refuses the pod": {
		make: func(t *testing.T, b *v1alpha1.HostedBridge) {
			b.Namespace = installed.name("quota")
			must.Succeed(t, installed.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace}}))
			t.Cleanup(func() {
				must.Succeed(t, installed.client.Delete(context.WithoutCancel(t.Context()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace}}))
			})
			must.Succeed(t, installed.client.Create(t.Context(), &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "none"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
			}))
		},
		kubectl: "exceeded quota: none", event: v1alpha1.ReasonPodRefused,
		page: "/", console: "Your bridge cannot start", tool: "good_" + tool, client: "the cluster refuses to run it",
		overview: v1alpha1.ReasonPodRefused, alert: `hostedbridge_bridge_conditions{condition="WorkloadAvailable",reason="PodRefused",status="False"}`,
	},
	"no node has room for the pod": {
		make: func(_ *testing.T, b *v1alpha1.HostedBridge) {
			s := npmServer("large", "server-memory")
			s.Transport.Stdio.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}}
			b.Spec.Servers = append(b.Spec.Servers, s)
		},
		kubectl: "nodes are available", event: v1alpha1.ReasonPodUnschedulable,
		page: "/", console: "Your bridge cannot start", tool: "good_" + tool, client: "the cluster has no room for it",
		overview: v1alpha1.ReasonPodUnschedulable, alert: `hostedbridge_bridge_conditions{condition="WorkloadAvailable",reason="PodUnschedulable",status="False"}`,
	},
	"a group is misspelt": {
		make: func(t *testing.T, b *v1alpha1.HostedBridge) {
			squad := installed.name("squad")
			p := &v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: squad}, Spec: v1alpha1.BridgeProfileSpec{
				Who:  v1alpha1.ProfileSubjects{Namespaces: []string{b.Namespace}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: b.Namespace, Value: squad}}},
				Tier: "pro",
			}}
			must.Succeed(t, installed.client.Create(t.Context(), p))
			t.Cleanup(func() { must.Succeed(t, installed.client.Delete(context.WithoutCancel(t.Context()), p)) })
			b.Spec.Groups = []string{strings.Replace(squad, "squad", "sqaud", 1)}
		},
		kubectl: "did you mean squad-", event: v1alpha1.ReasonUnknownGroup,
		overview: v1alpha1.ReasonUnknownGroup, alert: `hostedbridge_bridge_conditions{condition="ProfilesApplied",reason="UnknownGroup",status="False"}`,
	},
	"a tier does not exist": {
		make:    func(_ *testing.T, b *v1alpha1.HostedBridge) { b.Spec.Tier = "gold" },
		kubectl: "must be one of:", event: v1alpha1.ReasonUnknownTier,
		overview: overview.ReasonFailed, alert: `hostedbridge_bridges{phase="Failed"}`,
	},
}

// TestFaultsAreSaidWherePeopleLook makes each fault and waits until each place says it. The log has the
// seconds.
func TestFaultsAreSaidWherePeopleLook(t *testing.T) {
	t.Parallel()
	key := adminKey(t)
	n := 0
	for name, f := range faults {
		short := fmt.Sprintf("fault%d", n)
		n++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if f.registry {
				needRegistry(t)
			}
			who := tenant{name: installed.name(short), key: mint(t)}
			b := bridge(who.name, []credential{who.key}, "good")
			f.make(t, b)
			began := time.Now()
			create(t, b)
			said, looked, last := map[string]time.Duration{}, map[string]time.Time{}, map[string]error{}
			places := f.places(who, b, key)
			wait.NoError(t, wait.Limit, "each place says it", func(ctx context.Context) error {
				var silent []error
				for place, look := range places {
					if said[place] != 0 {
						continue
					}
					if time.Since(looked[place]) >= pace {
						looked[place], last[place] = time.Now(), look(ctx)
					}
					if last[place] == nil {
						said[place] = time.Since(began).Round(100 * time.Millisecond)
						continue
					}
					silent = append(silent, fmt.Errorf("%s: %w", place, last[place]))
				}
				return errors.Join(silent...)
			})
			t.Logf("said after %v", said)
		})
	}
}

// places returns what looks at each place, by the place's name.
func (f fault) places(who tenant, b *v1alpha1.HostedBridge, adminKey string) map[string]func(context.Context) error {
	places := map[string]func(context.Context) error{
		"kubectl": func(ctx context.Context) error {
			seen := &v1alpha1.HostedBridge{}
			if err := installed.client.Get(ctx, client.ObjectKeyFromObject(b), seen); err != nil {
				return err
			}
			return has(describe(seen.Status.Conditions), f.kubectl)
		},
		"event": func(ctx context.Context) error {
			text, err := installed.runKubectl(ctx, "", "get", "events", "--namespace="+b.Namespace, "--field-selector=involvedObject.name="+b.Name+",type=Warning")
			return errors.Join(err, has(text, f.event))
		},
		"overview": func(ctx context.Context) error { return f.problem(ctx, who, adminKey) },
	}
	if f.console != "" {
		jar, _ := cookiejar.New(nil) // It never fails.
		visitor, known := &http.Client{Jar: jar}, false
		places["console"] = func(ctx context.Context) error {
			if !known {
				if err := logIn(ctx, visitor, who); err != nil {
					return err
				}
				known = true
			}
			text, err := visit(ctx, visitor, http.MethodGet, f.page, nil)
			return errors.Join(err, has(text, f.console))
		}
	}
	if f.client != "" {
		places["client"] = inBackground(func(ctx context.Context) error {
			if err := callNamed(ctx, who, f.tool); err != nil {
				return has(err.Error(), f.client)
			}
			return errors.New("the call is answered")
		})
	}
	if f.alert != "" {
		places["alert"] = func(ctx context.Context) error { return operatorCounts(ctx, f.alert) }
	}
	return places
}

// inBackground looks in another goroutine: a call that waits for its bridge must not keep the other places
// waiting.
func inBackground(look func(context.Context) error) func(context.Context) error {
	seen, looks := make(chan error, 1), false
	return func(ctx context.Context) error {
		if !looks {
			looks = true
			go func() { seen <- look(ctx) }()
		}
		select {
		case err := <-seen:
			looks = false
			return err
		default:
			return errors.New("no answer yet")
		}
	}
}

// has returns an error unless the text has the words.
func has(text, words string) error {
	if !strings.Contains(text, words) {
		return fmt.Errorf("no %q in %.1500s", words, text)
	}
	return nil
}

// problem looks for the fault among the problems that administrators see.
func (f fault) problem(ctx context.Context, who tenant, adminKey string) error {
	a, err := send(ctx, newHTTPClient(false), installed.url+"/admin/problems", adminKey, request{method: http.MethodGet})
	if err != nil {
		return err
	}
	var found overview.Problems
	if err := json.Unmarshal(a.body, &found); err != nil {
		return fmt.Errorf("%w: %d %.300s", err, a.status, a.body)
	}
	if slices.ContainsFunc(found.Problems, func(p overview.Problem) bool {
		return p.Reason == f.overview && p.Message != "" && slices.Contains(p.Named, v1alpha1.UserID(who.name))
	}) {
		return nil
	}
	return fmt.Errorf("no %s of %s in %.1500s", f.overview, who.name, a.body)
}

// visitField is the token in the form of the login.
var visitField = regexp.MustCompile(`name="visit" value="([^"]*)"`)

// logIn begins a session of the user's console.
func logIn(ctx context.Context, visitor *http.Client, who tenant) error {
	text, err := visit(ctx, visitor, http.MethodGet, "/login", nil)
	found := visitField.FindStringSubmatch(text)
	if err != nil || found == nil {
		return errors.Join(err, fmt.Errorf("no form in %.300s", text))
	}
	text, err = visit(ctx, visitor, http.MethodPost, "/login", url.Values{"key": {who.key.secret}, "next": {"/"}, "visit": {found[1]}})
	if err == nil && strings.Contains(text, `name="key"`) {
		err = errors.New("the key is not known yet")
	}
	return err
}

func visit(ctx context.Context, visitor *http.Client, method, page string, form url.Values) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, installed.url+page, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", installed.url)
	}
	resp, err := visitor.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// operatorCounts returns an error unless the operator's metrics have the series with a value.
func operatorCounts(ctx context.Context, series string) error {
	var pods corev1.PodList
	if err := installed.client.List(ctx, &pods, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"}); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		text, err := readMetrics(ctx, pod)
		if err != nil {
			continue // It ends, or begins.
		}
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, series); ok && strings.TrimSpace(value) != "0" {
				return nil
			}
		}
	}
	return fmt.Errorf("no operator has %s", series)
}
