// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// pageSize is how many objects are listed at a time, as kubectl does.
const pageSize = 500

// connection is how the API server is reached: the kubeconfig, and the flags before it.
type connection struct {
	kubeconfig   string
	overrides    clientcmd.ConfigOverrides
	installation string
}

// declare declares the flags, which are kubectl's.
func (c *connection) declare(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: as kubectl, KUBECONFIG or ~/.kube/config)")
	f.StringVar(&c.overrides.CurrentContext, "context", "", "name of the kubeconfig context to use")
	f.StringVar(&c.overrides.Context.Cluster, "cluster", "", "name of the kubeconfig cluster to use")
	f.StringVar(&c.overrides.Context.AuthInfo, "user", "", "name of the kubeconfig user to use")
	f.StringVarP(&c.overrides.Context.Namespace, "namespace", "n", "", "namespace of the HostedBridge (default: that of the context)")
	f.StringVar(&c.overrides.AuthInfo.Impersonate, "as", "", "username to impersonate")
	f.StringArrayVar(&c.overrides.AuthInfo.ImpersonateGroups, "as-group", nil, "group to impersonate; repeat the flag for each group")
	f.StringVar(&c.overrides.Timeout, "request-timeout", "10s", "how long one request to the API server may take; 0 means no limit")
	f.StringVar(&c.installation, "installation", "hosted-bridge-system", "namespace of the installation, where the records of people are")
}

// open reads the kubeconfig.
func (c *connection) open() (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	// The API server of a machine that runs nothing, which old kubectls took, is no cluster.
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
	config, err := found.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster is configured: set KUBECONFIG to a kubeconfig file, or name one by --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	namespace, _, err := found.Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return newCluster(config, namespace, c.installation)
}

// cluster is the API server, with the namespaces that were asked for.
type cluster struct {
	client client.Client
	config *rest.Config
	// namespace is that of the HostedBridge, and installation that of the installation.
	namespace, installation string
}

func newCluster(config *rest.Config, namespace, installation string) (*cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	// The kinds are known, so the API server need not be asked for all that it has.
	kinds := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("HostedBridge"), v1alpha1.GroupVersion.WithKind("BridgePerson"),
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Event"),
	} {
		kinds.Add(kind, meta.RESTScopeNamespace)
	}
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: kinds})
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return &cluster{client: c, config: config, namespace: namespace, installation: installation}, nil
}

// bridges lists the HostedBridges of a namespace, or of all if it is empty.
func (c *cluster) bridges(ctx context.Context, namespace string) ([]v1alpha1.HostedBridge, error) {
	var all []v1alpha1.HostedBridge
	empty := func() *v1alpha1.HostedBridgeList { return &v1alpha1.HostedBridgeList{} }
	err := namespaces.EachPage(ctx, c.client, empty, func(page *v1alpha1.HostedBridgeList) error {
		all = append(all, page.Items...)
		return nil
	}, client.InNamespace(namespace), client.Limit(pageSize))
	if err != nil {
		return nil, fmt.Errorf("list HostedBridges: %w", err)
	}
	return all, nil
}

// everyBridge lists the HostedBridges of all namespaces, or of one where the person may not list
// more.
func (c *cluster) everyBridge(ctx context.Context) ([]v1alpha1.HostedBridge, error) {
	all, err := c.bridges(ctx, metav1.NamespaceAll)
	if apierrors.IsForbidden(err) {
		return c.bridges(ctx, c.namespace)
	}
	return all, err
}

// find returns the HostedBridge of that name in the namespace, or else the one of that user.
func (c *cluster) find(ctx context.Context, name string) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, b)
	if err == nil || !apierrors.IsNotFound(err) {
		return b, err
	}
	all, err := c.everyBridge(ctx)
	if err != nil {
		return nil, err
	}
	here := slices.IndexFunc(all, func(b v1alpha1.HostedBridge) bool {
		return b.Namespace == c.namespace && string(b.User()) == name
	})
	if here < 0 {
		return nil, c.noBridge(name, all)
	}
	return &all[here], nil
}

// noBridge says that the namespace has no such bridge, and which one may be meant.
func (c *cluster) noBridge(name string, all []v1alpha1.HostedBridge) error {
	none := fmt.Sprintf("the namespace %s has no HostedBridge %q", c.namespace, name)
	var names []string
	for _, b := range all {
		if b.Name == name || string(b.User()) == name {
			return fmt.Errorf("%s; the namespace %s has one: add --namespace=%[2]s", none, b.Namespace)
		}
		if b.Namespace == c.namespace {
			names = append(names, b.Name, string(b.User()))
		}
	}
	if like := nearest(name, names); like != "" {
		return fmt.Errorf("%s; did you mean %s?", none, like)
	}
	return fmt.Errorf("%s; kubectl bridge list --all-namespaces shows all bridges", none)
}

// backend names a HostedBridge for the package of keys.
func backend(b *v1alpha1.HostedBridge) route.Backend {
	return route.Backend{User: b.User(), BridgeUID: b.UID, Namespace: b.Namespace, Name: b.Name}
}

// explain returns an error of the API server with what to do about it.
func (c *cluster) explain(err error) error {
	_, unreached := errors.AsType[*url.Error](err)
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s refuses your credentials (%w): log in to the cluster again, "+
			"or name another context by --context", c.config.Host, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not do this: %w. Ask an administrator of the cluster for the right; "+
			"docs/operations/rights.md#people says which roles there are", err)
	case isUnknownKind(err):
		return fmt.Errorf("the API server %s knows no HostedBridges (%w): hosted-bridge is not installed in this cluster, "+
			"or --context has to name another one", c.config.Host, err)
	case unreached:
		return fmt.Errorf("the API server %s does not answer: %w. See whether it runs, "+
			"or name another cluster by --context or --kubeconfig", c.config.Host, err)
	}
	return err
}

// isUnknownKind reports whether the API server does not have the resource at all. If it only
// lacks an object, its answer names the object.
func isUnknownKind(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Name == "")
}

// logConfig returns how to reach the API server for a log, which may be followed for as long as
// somebody looks at it.
func (c *cluster) logConfig(follow bool) *rest.Config {
	config := rest.CopyConfig(c.config)
	if follow {
		config.Timeout = 0
	}
	return config
}
