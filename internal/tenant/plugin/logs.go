// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// logOptions are the flags of "logs".
type logOptions struct {
	server           string
	follow, previous bool
	tail             int64
}

// logs returns the command that prints the log of a bridge or of one of its programs.
func (p *program) logs() *cobra.Command {
	var o logOptions
	c := &cobra.Command{
		Use: "logs NAME", Args: cobra.ExactArgs(1),
		Short: "Print the log of a bridge, or of the program of one of its servers",
		RunE: p.run(func(ctx context.Context, c *cluster, args []string) error {
			b, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			return o.print(ctx, c, effective.Of(b), p.Out)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.server, "server", "", "server whose program's log to print (default: the log of the bridge itself)")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on printing until the command is ended")
	f.BoolVarP(&o.previous, "previous", "p", false, "print the log of the process that ended before")
	f.Int64Var(&o.tail, "tail", -1, "how many lines to print, the last ones; -1 means all")
	return c
}

func (o logOptions) print(ctx context.Context, c *cluster, b *effective.Bridge, w io.Writer) error {
	pods, err := c.pods(ctx, b.HostedBridge)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return noPod(b)
	}
	// While one pod replaces another, the new one has what is asked for.
	pod := slices.MaxFunc(pods, func(x, y corev1.Pod) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	container, err := o.container(b, &pod)
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfig(c.logConfig(o.follow))
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	options := &corev1.PodLogOptions{Container: container, Follow: o.follow, Previous: o.previous}
	if o.tail >= 0 {
		options.TailLines = &o.tail
	}
	log, err := core.Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return fmt.Errorf("read the log of the container %s of the pod %s: %w", container, pod.Name, err)
	}
	defer log.Close()
	if _, err := io.Copy(w, log); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// container returns the container whose log is asked for.
func (o logOptions) container(b *effective.Bridge, pod *corev1.Pod) (string, error) {
	if o.server == "" {
		return v1alpha1.BridgeContainer, nil
	}
	if name := programContainer(pod, o.server); name != "" {
		return name, nil
	}
	var names []string
	for _, s := range b.Spec.Servers {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, o.server) {
		if like := nearest(o.server, names); like != "" {
			return "", fmt.Errorf("%s has no server %q; did you mean %s?", b.Name, o.server, like)
		}
		return "", fmt.Errorf("%s has no server %q; it has %d: %q", b.Name, o.server, len(names), names)
	}
	return "", fmt.Errorf("the server %s has no program beside the bridge: it is at a URL, or out of service; "+
		"leave out --server for the bridge's log, and see %s", o.server, command("why", b))
}

// noPod says why a bridge has no log.
func noPod(b *effective.Bridge) error {
	if b.Asleep() {
		return fmt.Errorf("%s is asleep and has no pod: %s starts it", b.Name, command("wake", b))
	}
	return fmt.Errorf("%s has no pod: %s says why", b.Name, command("why", b))
}
