// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// maxEvents is how many events are shown, the last ones.
const maxEvents = 5

// why returns the command that says what is wrong with a bridge.
func (p *program) why() *cobra.Command {
	return &cobra.Command{
		Use: "why NAME", Args: cobra.ExactArgs(1),
		Short: "Say what is wrong with a bridge, in words, and what to do next",
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			b, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			w := writer{bridge: effective.Of(b), now: p.Now(), installation: c.installation}
			pods, err := c.pods(ctx, b)
			if w.notShown("pods", err) {
				return err
			}
			found := causes(w.bridge, pods, w.now)
			w.head(len(found))
			for _, cause := range found {
				w.cause(cause)
			}
			if len(found) > 0 || b.Status.Phase == v1alpha1.PhasePending || b.Status.Phase == v1alpha1.PhaseWaking {
				events, err := c.warnings(ctx, b)
				if w.notShown("events", err) {
					return err
				}
				w.events(events)
			}
			for _, line := range w.notes {
				fmt.Fprintf(&w.text, "\n%s\n", line)
			}
			_, err = fmt.Fprint(p.Out, w.text.String())
			return err
		}),
	}
}

// pods returns the pods of a bridge.
func (c *cluster) pods(ctx context.Context, b *v1alpha1.HostedBridge) ([]corev1.Pod, error) {
	labels := client.MatchingLabels(v1alpha1.BridgePodLabels())
	labels[v1alpha1.LabelInstance] = v1alpha1.InstanceLabelValue(b.Name)
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.InNamespace(b.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return pods.Items, nil
}

// warnings returns the last warnings about the HostedBridge and about what is made of it, the
// oldest first.
func (c *cluster) warnings(ctx context.Context, b *v1alpha1.HostedBridge) ([]corev1.Event, error) {
	var events corev1.EventList
	warnings := client.MatchingFields{"type": corev1.EventTypeWarning}
	if err := c.client.List(ctx, &events, client.InNamespace(b.Namespace), warnings); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	workload := v1alpha1.WorkloadName(b.Name)
	own := slices.DeleteFunc(events.Items, func(e corev1.Event) bool {
		of := e.InvolvedObject
		if of.Kind == "HostedBridge" {
			return of.UID != b.UID
		}
		return of.Name != workload && !strings.HasPrefix(of.Name, workload+"-")
	})
	slices.SortStableFunc(own, func(x, y corev1.Event) int { return lastSeen(x).Compare(lastSeen(y)) })
	return own[max(0, len(own)-maxEvents):], nil
}

// lastSeen returns when an event was last seen, whichever API reported it.
func lastSeen(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// writer writes what is wrong with a bridge for a person.
type writer struct {
	text         strings.Builder
	bridge       *effective.Bridge
	now          time.Time
	installation string
	// notes say what could not be looked at.
	notes []string
}

// notShown notes that the person may not see something, and reports whether err is another error.
func (w *writer) notShown(what string, err error) bool {
	if err == nil {
		return false
	}
	if apierrors.IsForbidden(err) {
		note := fmt.Sprintf("You may not list %s in the namespace %s, so that what these say is not here.", what, w.bridge.Namespace)
		w.notes = append(w.notes, note)
		return false
	}
	return true
}

// head says how the bridge is as a whole.
func (w *writer) head(found int) {
	b := w.bridge
	d := detailOf(b, w.now)
	fmt.Fprintf(&w.text, "HostedBridge %s/%s of the user %s, tier %s: %s\n", b.Namespace, b.Name, b.User(), b.Spec.Tier, phase(b.Status.Phase))
	fmt.Fprintln(&w.text, d.Summary())
	if b.Asleep() && found == 0 {
		fmt.Fprintf(&w.text, "To start it now: %s\n", command("wake", b))
	}
}

// cause writes one cause with what to do next.
func (w *writer) cause(c cause) {
	fmt.Fprintf(&w.text, "\n%s (%s)", c.what, strings.ToLower(overview.Words(c.reason)))
	if !c.since.IsZero() {
		fmt.Fprintf(&w.text, ", since %s", duration.HumanDuration(w.now.Sub(c.since)))
	}
	fmt.Fprintln(&w.text)
	w.line("", oneLine(c.message))
	w.line("The user's page says: ", c.user)
	w.line("Next: ", c.next)
	a, known := adviceOn(c.reason, w.bridge, w.installation)
	if !known {
		return
	}
	before := "What to do: "
	for _, text := range a.text {
		w.line(before, text)
		before = ""
	}
	for _, command := range a.commands {
		w.line("    ", command)
	}
	w.line("More: ", a.place)
}

// line writes a line below a cause, if there is something to say.
func (w *writer) line(before, text string) {
	if text != "" {
		fmt.Fprintf(&w.text, "  %s%s\n", before, text)
	}
}

// events writes warnings, each message once.
func (w *writer) events(events []corev1.Event) {
	if len(events) == 0 {
		return
	}
	fmt.Fprintf(&w.text, "\nWarnings of the last hour:\n")
	for _, e := range events {
		of := strings.ToLower(e.InvolvedObject.Kind) + " " + e.InvolvedObject.Name
		fmt.Fprintf(&w.text, "  %s ago, %s: %s: %s\n", duration.HumanDuration(w.now.Sub(lastSeen(e))), of, e.Reason, oneLine(e.Message))
	}
}
