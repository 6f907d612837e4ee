// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"os"
)

// base64File embeds a certificate in a kubeconfig, so that the kubeconfig
// works wherever it is copied to.
func base64File(path string) (string, error) {
	content, err := os.ReadFile(path)
	return base64.StdEncoding.EncodeToString(content), err
}

const kubeconfigTemplate = `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{base64 (print .Folder "/pki/ca.crt")}}
users:
- name: {{.User}}
  user:
    client-certificate-data: {{base64 (print .Folder "/pki/" .User ".crt")}}
    client-key-data: {{base64 (print .Folder "/pki/" .User ".key")}}
contexts:
- name: local
  context:
    cluster: local
    user: {{.User}}
current-context: local
`

// restrict_oom_score_adj: a machine may lack the capability to make a process
// less likely to be killed than containerd itself. runtime_path: containerd looks
// for its shim on PATH first, where the distribution's may be.
const containerdConfiguration = `version = 4
root = "{{.Folder}}/containerd"
state = "/run/containerd"

[plugins."io.containerd.server.v1.grpc"]
  address = "{{.Socket}}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"

  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "{{.Folder}}/config/registries"

  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{{.PauseImage}}"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true

  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    runtime_path = "{{.Shim}}"

    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false

  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{{.CNIPlugins}}"]
    conf_dir = "{{.Folder}}/config/cni"
`

// registryConfiguration has containerd trust the cluster's registry.
const registryConfiguration = `server = "https://{{.Registry}}"

[host."https://{{.Registry}}"]
  capabilities = ["pull", "resolve"]
  ca = "{{.Folder}}/pki/ca.crt"
`

// auditPolicy records who did what to which object, without bodies: those of
// Secrets and tokens are in them. A watch is recorded when it starts, too: those
// of the installation end with it. Left out is what the cluster does to itself,
// and what administrators read: that is most of all requests, and says nothing
// of anybody's rights. What nobody or somebody unknown asks is recorded.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:serviceaccounts:kube-system", "system:nodes"]
- level: None
  users:
  - system:apiserver
  - system:kube-controller-manager
  - system:kube-scheduler
  - system:kube-proxy
  - system:coredns
  - system:network-policies
  - system:volumes
- level: None
  userGroups: ["system:masters"]
  verbs: [get, list, watch]
- level: Metadata
`

// hairpinMode lets a pod reach itself through its own Service.
const networkConfiguration = `{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "{{.PodBridge}}",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni",
        "ranges": [[{"subnet": "{{.PodNetwork}}"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}{{if .Enforce}},
    {"type": "{{.PolicyPlugin}}"}{{end}}
  ]
}
`

// The eviction thresholds are low, and no share of the disk, because the disk is the
// developer's own: one with some hundred megabytes left is no reason to end pods.
const kubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  x509:
    clientCAFile: {{.Folder}}/pki/ca.crt
  anonymous:
    enabled: false
authorization:
  mode: Webhook
address: {{.NodeAddress}}
healthzBindAddress: 127.0.0.1
tlsCertFile: {{.Folder}}/pki/kubelet-server.crt
tlsPrivateKeyFile: {{.Folder}}/pki/kubelet-server.key
containerRuntimeEndpoint: unix://{{.Socket}}
cgroupDriver: cgroupfs
cgroupRoot: /{{.Cgroup}}
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
oomScoreAdj: 0
maxPods: 250
clusterDomain: {{.Domain}}
clusterDNS: [{{.NodeAddress}}]
resolvConf: ""
podLogsDir: {{.Folder}}/pod-logs
imageGCHighThresholdPercent: 100
evictionHard:
  memory.available: 50Mi
  nodefs.available: 200Mi
  nodefs.inodesFree: 10k
  imagefs.available: 200Mi
`

const proxyConfiguration = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: {{.NodeName}}
clusterCIDR: {{.PodNetwork}}
clientConnection:
  kubeconfig: {{.Folder}}/config/kube-proxy.kubeconfig
oomScoreAdj: 0
metricsBindAddress: 127.0.0.1:10249
healthzBindAddress: 127.0.0.1:10256
conntrack:
  maxPerCore: 0
  min: 0
`

const corefile = `.:53 {
    bind {{.NodeAddress}}
    errors
    ready 127.0.0.1:8181
    kubernetes {{.Domain}} in-addr.arpa {
        kubeconfig {{.Folder}}/config/coredns.kubeconfig
        ttl 5
    }
    forward . {{.Resolver}}
    cache 5
}
`

// roles are what CoreDNS, the enforcement of NetworkPolicies and the maker of volumes
// may do. The StorageClass is that of claims that name none.
const roles = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:coredns
rules:
- apiGroups: [""]
  resources: [services, pods, namespaces]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: system:coredns
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:coredns
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: system:coredns
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:network-policies
rules:
- apiGroups: [""]
  resources: [pods, namespaces]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: system:network-policies
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:network-policies
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: system:network-policies
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:volumes
rules:
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [list, watch, create, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: system:volumes
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:volumes
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: system:volumes
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: local
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: hostedbridge.dev/local
reclaimPolicy: Delete
volumeBindingMode: Immediate
`
