// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package profilediff says what a change of BridgeProfiles would change before it is applied:
// the command "operator profiles", and what administrators try in the console.
package profilediff

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/setting"
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
	WatchNamespaces namespaces.Set
	TiersFile       string
}

// Declare declares the settings.
func (o *Options) Declare() *setting.Set {
	s := setting.New("operator profiles diff", usage)
	s.String(&o.Namespace, "namespace", "hosted-bridge-system", "namespace of the installation", setting.Label)
	o.WatchNamespaces.Declare(s)
	s.String(&o.TiersFile, "tiers-file", "", "file with the installation's tiers (default: that of the operator's pod, or the built-in tiers outside of it)")
	return s
}

// Run runs the command with the arguments after "profiles". It returns ErrChanges if
// bridges would change.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var o Options
	s := o.Declare()
	s.SetOutput(stderr)
	if err := s.ParseWords(args); err != nil {
		return err
	}
	if s.NArg() != 1 || s.Arg(0) != "diff" {
		return errors.New("profiles has one command, diff, which reads BridgeProfiles from standard input")
	}
	if err := s.Validate(); err != nil {
		return err
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
	changed, all := 0, 0
	from := Source{Client: c, Namespace: o.Namespace, Watched: o.WatchNamespaces}
	err = from.compare(ctx, tiers, given, func(b *v1alpha1.HostedBridge, changes []profile.Change, _ []string) error {
		if all++; len(changes) == 0 {
			return nil
		}
		changed++
		var text strings.Builder
		fmt.Fprintf(&text, "%s/%s (user %s)\n", b.Namespace, b.Name, b.User())
		for _, change := range changes {
			fmt.Fprintf(&text, "    %s\n", change)
		}
		_, err := io.WriteString(stdout, text.String())
		return err
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%d of %d bridges would change\n", changed, all); err != nil {
		return err
	}
	if changed > 0 {
		return ErrChanges
	}
	return nil
}
