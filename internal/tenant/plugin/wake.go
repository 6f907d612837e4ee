// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// wakeTries is how often a wake is written that conflicts with another writer's update.
const wakeTries = 4

// wake returns the command that starts a bridge which sleeps.
func (p *program) wake() *cobra.Command {
	return &cobra.Command{
		Use: "wake NAME", Args: cobra.ExactArgs(1),
		Short: "Start a bridge that sleeps, as a call does",
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			for try := 1; ; try++ {
				b, err := c.find(ctx, args[0])
				if err != nil {
					return err
				}
				said, err := c.wake(ctx, p, effective.Of(b))
				if apierrors.IsConflict(err) && try < wakeTries {
					continue
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.Out, "hostedbridge.%s/%s %s\n", v1alpha1.GroupVersion.Group, b.Name, said)
				return err
			}
		}),
	}
}

// wake writes lastActivityTime, by which the operator starts the bridge, and returns what was done.
func (c *cluster) wake(ctx context.Context, p *program, b *effective.Bridge) (said string, err error) {
	switch {
	case b.Status.Access != nil:
		return "", fmt.Errorf("%s does not wake: nobody may use the bridge, because its people are %s; %s gives the access back",
			b.Name, accessWord(b.Status.Access.State), command("resume", b))
	case b.Spec.DesiredState == v1alpha1.StateSuspended:
		return "", fmt.Errorf("%s does not wake: spec.desiredState is Suspended; set it to OnDemand or Running", b.Name)
	case !b.Asleep():
		return "is not asleep", nil
	case b.Woken():
		return "is waking already", nil
	}
	patch, err := json.Marshal(map[string]any{
		// Another version, also of a later bridge of this name, is not meant.
		"metadata": map[string]any{"resourceVersion": b.ResourceVersion},
		"status":   map[string]any{"lastActivityTime": metav1.NewTime(b.WakeTime(p.Now()))},
	})
	if err != nil {
		return "", fmt.Errorf("encode patch: %w", err)
	}
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	err = c.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldOwner))
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("waking needs the right to patch hostedbridges/status; a call of the user wakes the bridge too, "+
			"and so does its page in the console at /console/people/%s: %w", b.User(), err)
	}
	if err != nil {
		return "", fmt.Errorf("wake: %w", err)
	}
	return "woken", nil
}
