// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package profiles is the command "operator profiles", which says what a change of
// BridgeProfiles would change before it is applied.
package profiles

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/scope"
)

const usage = `Say which bridges BridgeProfiles would change, and how, before they are applied.

Usage: kubectl apply --dry-run=server -o yaml -f profile.yaml | operator profiles diff [flags]

The BridgeProfiles are read from standard input, as the API server would store them.
The exit code is 0 if nothing would change, 1 if something would, and 2 after an error.

`

// mountedTiers is where the chart mounts the installation's tiers.
const mountedTiers = "/etc/hosted-bridge/tiers/tiers.yaml"

// ErrChanges means that bridges would change.
var ErrChanges = errors.New("bridges would change")

// Options are the flags of "operator profiles diff".
type Options struct {
	Namespace       string
	WatchNamespaces scope.Namespaces
	TiersFile       string
}

// Defaults returns the options without flags.
func Defaults() Options { return Options{Namespace: "hosted-bridge-system"} }

// RegisterFlags adds the flags to fs.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation, where its BridgeProfiles are")
	fs.StringSliceVar((*[]string)(&o.WatchNamespaces), scope.Flag, o.WatchNamespaces, scope.FlagUsage)
	fs.StringVar(&o.TiersFile, "tiers-file", o.TiersFile, "file with the installation's tiers (default: that of the operator's pod, or the built-in tiers outside of it)")
}

// Run runs the command with the arguments after "profiles". It returns ErrChanges if
// bridges would change.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o := Defaults()
	fs := pflag.NewFlagSet("operator profiles diff", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, usage+fs.FlagUsages()) }
	o.RegisterFlags(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 || fs.Arg(0) != "diff" {
		return errors.New("profiles has one command, diff, which reads BridgeProfiles from standard input")
	}
	given, err := read(stdin, o.Namespace)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	return o.diff(ctx, c, given, stdout)
}

func (o Options) tiers() (quota.Tiers, error) {
	if o.TiersFile != "" {
		return quota.FromFile(o.TiersFile, os.ReadFile)
	}
	tiers, err := quota.FromFile(mountedTiers, os.ReadFile)
	if errors.Is(err, fs.ErrNotExist) {
		return quota.Defaults(), nil
	}
	return tiers, err
}

// read reads the BridgeProfiles of a stream of YAML or JSON documents, also of Lists.
func read(from io.Reader, namespace string) ([]v1alpha1.BridgeProfile, error) {
	var profiles []v1alpha1.BridgeProfile
	documents := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		found, err := readDocument(text)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, found...)
	}
	for _, p := range profiles {
		if p.Namespace != namespace {
			return nil, fmt.Errorf("BridgeProfile %s is in the namespace %q; only those in %q have an effect (--namespace)", p.Name, p.Namespace, namespace)
		}
	}
	if len(profiles) == 0 {
		return nil, errors.New(`standard input has no BridgeProfile; give it the output of "kubectl apply --dry-run=server -o yaml -f FILE"`)
	}
	return profiles, nil
}

// readDocument reads the BridgeProfiles of one document.
func readDocument(text []byte) ([]v1alpha1.BridgeProfile, error) {
	var document struct {
		Kind  string                   `json:"kind"`
		Items []v1alpha1.BridgeProfile `json:"items"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read a document of standard input: %w", err)
	}
	switch document.Kind {
	case "":
		return nil, nil
	case "List", "BridgeProfileList":
		return document.Items, nil
	case "BridgeProfile":
		var p v1alpha1.BridgeProfile
		if err := yaml.UnmarshalStrict(text, &p); err != nil {
			return nil, fmt.Errorf("read BridgeProfile: %w", err)
		}
		return []v1alpha1.BridgeProfile{p}, nil
	default:
		return nil, fmt.Errorf("standard input has a %s; only BridgeProfiles are compared", document.Kind)
	}
}

// diff writes what the given profiles would change.
func (o Options) diff(ctx context.Context, c client.Reader, given []v1alpha1.BridgeProfile, stdout io.Writer) error {
	tiers, err := o.tiers()
	if err != nil {
		return err
	}
	profiles, err := merged(ctx, c, o.Namespace, given)
	if err != nil {
		return err
	}
	bridges, err := list(ctx, c, o.WatchNamespaces)
	if err != nil {
		return err
	}
	var persons v1alpha1.BridgePersonList
	var requests v1alpha1.BridgeRequestList
	var shared v1alpha1.SharedServerList
	for _, l := range []client.ObjectList{&persons, &requests, &shared} {
		if err := c.List(ctx, l, client.InNamespace(o.Namespace)); err != nil {
			return fmt.Errorf("list the objects that profiles depend on: %w", err)
		}
	}
	people, changed, now := access.NewPeople(persons.Items), 0, time.Now()
	for i := range bridges {
		b := &bridges[i]
		groups, _ := profile.Groups(b, people, now)
		after := *b
		sharing, approved := profile.SharingOf(b, shared.Items, people, now), profile.Approved(requests.Items, b)
		after.Status.Effective = profile.Effective(b, selecting(profiles, b, groups), tiers, sharing, approved)
		if changes := profile.Changes(b.WithEffective(), after.WithEffective()); len(changes) > 0 {
			changed++
			if _, err := fmt.Fprintf(stdout, "%s/%s (user %s)\n    %s\n", b.Namespace, b.Name, b.User(), strings.Join(changes, "\n    ")); err != nil {
				return err
			}
		}
	}
	if _, err := fmt.Fprintf(stdout, "%d of %d bridges would change\n", changed, len(bridges)); err != nil {
		return err
	}
	if changed > 0 {
		return ErrChanges
	}
	return nil
}

// selecting returns the profiles that select a bridge with these groups, in their order.
func selecting(profiles []profile.Profile, b *v1alpha1.HostedBridge, groups []profile.Group) []profile.Profile {
	var selected []profile.Profile
	for _, p := range profiles {
		if p.Selects(b, groups) {
			selected = append(selected, p)
		}
	}
	profile.Sort(selected)
	return selected
}

// merged returns the last accepted revisions of the stored profiles, and the given
// profiles in place of those with the same names.
func merged(ctx context.Context, c client.Reader, namespace string, given []v1alpha1.BridgeProfile) ([]profile.Profile, error) {
	var stored v1alpha1.BridgeProfileList
	if err := c.List(ctx, &stored, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list BridgeProfiles: %w", err)
	}
	var all []profile.Profile
	for i := range stored.Items {
		p := &stored.Items[i]
		replaced := slices.ContainsFunc(given, func(g v1alpha1.BridgeProfile) bool { return g.Name == p.Name })
		if replaced || len(p.Status.Revisions) == 0 {
			continue
		}
		one, err := profile.Of(p, p.Status.Revisions[0])
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for _, g := range given {
		all = append(all, profile.Profile{Name: g.Name, UID: string(g.UID), Generation: g.Generation, Spec: g.Spec})
	}
	return all, nil
}

func list(ctx context.Context, c client.Reader, watched scope.Namespaces) ([]v1alpha1.HostedBridge, error) {
	namespaces := []string(watched)
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var all []v1alpha1.HostedBridge
	for _, namespace := range namespaces {
		var bridges v1alpha1.HostedBridgeList
		if err := c.List(ctx, &bridges, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list HostedBridges: %w", err)
		}
		all = append(all, bridges.Items...)
	}
	return all, nil
}
