// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
)

// program is one process of the cluster.
type program struct {
	name string
	path string
	args []string
}

// controlPlane returns the programs that must serve before the others start.
func (c cluster) controlPlane(assets string) []program {
	pki := func(file string) string { return c.path("pki", file) }
	return []program{
		{name: "containerd", path: filepath.Join(assets, "containerd"), args: []string{"--config", c.path("config", "containerd.toml")}},
		{name: "etcd", path: filepath.Join(assets, "etcd"), args: []string{
			"--name=" + nodeName, "--data-dir=" + c.path("etcd"),
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=" + nodeName + "=http://127.0.0.1:2380",
			// A local cluster's data does not outlive its machine's power.
			"--unsafe-no-fsync", "--log-level=warn",
		}},
		{name: "kube-apiserver", path: filepath.Join(assets, "kube-apiserver"), args: []string{
			"--etcd-servers=http://127.0.0.1:2379",
			"--bind-address=0.0.0.0", "--secure-port=" + apiPort, "--advertise-address=" + nodeAddress,
			"--client-ca-file=" + pki("ca.crt"),
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
			"--kubelet-certificate-authority=" + pki("ca.crt"),
			"--kubelet-client-certificate=" + pki("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + pki("apiserver-kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc." + clusterDomain,
			"--service-account-key-file=" + pki("service-account.key"),
			"--service-account-signing-key-file=" + pki("service-account.key"),
			"--service-cluster-ip-range=" + serviceNetwork,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			"--audit-policy-file=" + c.path("config", "audit.yaml"), "--audit-log-path=" + c.path("logs", "audit.log"),
			// At most 200 MB: an end-to-end run writes some 20 MB, and then every
			// hour another 10 MB of leases that are renewed.
			"--audit-log-maxsize=100", "--audit-log-maxbackup=1",
		}},
	}
}

// nodePrograms returns the programs that need the API server. With enforce one of
// them enforces NetworkPolicies.
func (c cluster) nodePrograms(assets string, enforce bool) []program {
	pki := func(file string) string { return c.path("pki", file) }
	kubeconfig := func(user string) string { return c.path("config", user+".kubeconfig") }
	all := []program{
		{name: "kube-controller-manager", path: filepath.Join(assets, "kube-controller-manager"), args: []string{
			"--kubeconfig=" + kubeconfig("kube-controller-manager"), "--leader-elect=false",
			"--bind-address=127.0.0.1", "--use-service-account-credentials",
			"--service-account-private-key-file=" + pki("service-account.key"),
			"--root-ca-file=" + pki("ca.crt"),
			"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
		}},
		{name: "kube-scheduler", path: filepath.Join(assets, "kube-scheduler"), args: []string{
			"--kubeconfig=" + kubeconfig("kube-scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1",
		}},
		{name: "kubelet", path: filepath.Join(assets, "kubelet"), args: []string{
			"--config=" + c.path("config", "kubelet.yaml"), "--kubeconfig=" + kubeconfig("kubelet"),
			"--root-dir=" + c.path("kubelet"), "--hostname-override=" + nodeName, "--node-ip=" + nodeAddress,
		}},
		{name: "kube-proxy", path: filepath.Join(assets, "kube-proxy"), args: []string{
			"--config=" + c.path("config", "kube-proxy.yaml"),
		}},
		{name: "coredns", path: filepath.Join(assets, "coredns"), args: []string{
			"-conf", c.path("config", "Corefile"),
		}},
		{name: "registry", path: filepath.Join(assets, "registry"), args: []string{
			"--listen=" + registryAddress, "--folder=" + c.path("registry"),
			"--certificate=" + pki("registry.crt"), "--key=" + pki("registry.key"),
		}},
		{name: "volumes", path: filepath.Join(assets, "volumes"), args: []string{
			"--kubeconfig=" + kubeconfig("volumes"), "--folder=" + c.path("volumes"), "--node=" + nodeName,
		}},
	}
	if enforce {
		all = append(all, program{name: "network-policies", path: filepath.Join(assets, "network-policies"), args: []string{
			"--kubeconfig=" + kubeconfig("network-policies"), "--bridge=" + podBridge, "--listen=" + policyListen,
		}})
	}
	return all
}

// values are what the configuration templates are filled with.
type values struct {
	Folder, Cgroup, CNIPlugins, Domain, PauseImage, Socket string
	Shim                                                   string
	NodeName, NodeAddress, PodNetwork, APIPort             string
	User, Server, PodBridge, PolicyPlugin, Resolver        string
	Registry                                               string
	// Enforce is whether pods are announced to the program that enforces
	// NetworkPolicies.
	Enforce bool
}

// writeConfiguration writes every program's configuration file.
func (c cluster) writeConfiguration(cniPlugins string, s state) error {
	folder, err := c.linkPlugins(cniPlugins)
	if err != nil {
		return fmt.Errorf("link the CNI plugins: %w", err)
	}
	v := values{
		Folder: c.folder, Cgroup: c.cgroup(), CNIPlugins: folder, Domain: clusterDomain,
		PauseImage: pauseImage, Socket: containerdSocket, Shim: filepath.Join(s.Assets, shim),
		NodeName: nodeName, NodeAddress: nodeAddress, PodNetwork: podNetwork, APIPort: apiPort,
		Registry: registryAddress, PodBridge: podBridge, PolicyPlugin: policyPlugin, Resolver: outsideResolver, Enforce: s.Enforce,
	}
	files := map[string]string{
		"containerd.toml": containerdConfiguration, "kubelet.yaml": kubeletConfiguration,
		"kube-proxy.yaml": proxyConfiguration, "Corefile": corefile, "roles.yaml": roles,
		"registries/" + registryAddress + "/hosts.toml": registryConfiguration,
		"cni/10-bridge.conflist":                        networkConfiguration, "audit.yaml": auditPolicy,
	}
	for file, text := range files {
		if err := fill(c.path("config", file), text, v); err != nil {
			return err
		}
	}
	if err := c.writeOutsideRules(); err != nil {
		return err
	}
	v.Server = "https://127.0.0.1:" + apiPort
	for _, v.User = range []string{"kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns", "network-policies", "volumes"} {
		if err := fill(c.path("config", v.User+".kubeconfig"), kubeconfigTemplate, v); err != nil {
			return err
		}
	}
	v.User, v.Server = "admin", "https://127.0.0.1:"+strconv.Itoa(s.APIPort)
	return fill(c.kubeconfig(), kubeconfigTemplate, v)
}

func fill(file, text string, v values) error {
	t, err := template.New(filepath.Base(file)).Funcs(template.FuncMap{"base64": base64File}).Parse(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.Execute(f, v); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return f.Close()
}
