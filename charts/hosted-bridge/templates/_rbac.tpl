{{/*
Rights are written once, as lists of rules in rbac-<component>.yaml, and granted
here: to the whole cluster, or in namespaced mode to each watched namespace.

  hosted-bridge.rbac.<component>.tenants  what it does where HostedBridges are
  hosted-bridge.rbac.<component>.own      what it does in its installation's namespace
  hosted-bridge.rbac.<component>.catalog  what it does where the catalog is
  hosted-bridge.rbac.<component>.home     what it needs there, besides, when nothing
                                          is granted for the whole cluster
*/}}

{{/* The subject of a binding: call with (dict "root" $ "component" "ingress"). */}}
{{- define "hosted-bridge.rbac.subjects" -}}
subjects:
- kind: ServiceAccount
  name: hosted-bridge-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
{{- end }}

{{/* All roles and bindings of a component: call with (dict "root" $ "component" "ingress"). */}}
{{- define "hosted-bridge.rbac.grants" -}}
{{- if .root.Values.watchNamespaces }}
{{- range .root.Values.watchNamespaces }}
{{- include "hosted-bridge.rbac.watched" (dict "root" $.root "component" $.component "namespace" .) }}
{{- end }}
{{- else }}
{{- include "hosted-bridge.rbac.cluster" . }}
{{- end }}
{{- include "hosted-bridge.rbac.installation" . }}
{{- if and (include (printf "hosted-bridge.rbac.%s.catalog" .component) .root) (ne (include "hosted-bridge.namespaces.catalog" .root) .root.Release.Namespace) }}
{{- include "hosted-bridge.rbac.elsewhere" . }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.rbac.cluster" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: hosted-bridge-{{ .component }}
rules:
{{ include (printf "hosted-bridge.rbac.%s.tenants" .component) .root }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: hosted-bridge-{{ .component }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: hosted-bridge-{{ .component }}
{{ include "hosted-bridge.rbac.subjects" . }}
{{- end }}

{{/*
The name says nothing of the installation: one namespace is watched by one
installation, and a second one fails here before it claims the same users.
*/}}
{{- define "hosted-bridge.rbac.watched" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: hosted-bridge-{{ .component }}-tenants
  namespace: {{ .namespace | quote }}
rules:
{{ include (printf "hosted-bridge.rbac.%s.tenants" .component) .root }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: hosted-bridge-{{ .component }}-tenants
  namespace: {{ .namespace | quote }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: hosted-bridge-{{ .component }}-tenants
{{ include "hosted-bridge.rbac.subjects" . }}
{{- end }}

{{- define "hosted-bridge.rbac.installation" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: hosted-bridge-{{ .component }}
rules:
{{ include (printf "hosted-bridge.rbac.%s.own" .component) .root }}
{{- if eq (include "hosted-bridge.namespaces.catalog" .root) .root.Release.Namespace }}
{{- with include (printf "hosted-bridge.rbac.%s.catalog" .component) .root }}
{{ . }}
{{- end }}
{{- end }}
{{- if .root.Values.watchNamespaces }}
{{- with include (printf "hosted-bridge.rbac.%s.home" .component) .root }}
{{ . }}
{{- end }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: hosted-bridge-{{ .component }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: hosted-bridge-{{ .component }}
{{ include "hosted-bridge.rbac.subjects" . }}
{{- end }}

{{/* The catalog may be another installation's too, so the name says whose right it is. */}}
{{- define "hosted-bridge.rbac.elsewhere" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: hosted-bridge-{{ .component }}-catalog-of-{{ .root.Release.Namespace }}
  namespace: {{ include "hosted-bridge.namespaces.catalog" .root | quote }}
rules:
{{ include (printf "hosted-bridge.rbac.%s.catalog" .component) .root }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: hosted-bridge-{{ .component }}-catalog-of-{{ .root.Release.Namespace }}
  namespace: {{ include "hosted-bridge.namespaces.catalog" .root | quote }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: hosted-bridge-{{ .component }}-catalog-of-{{ .root.Release.Namespace }}
{{ include "hosted-bridge.rbac.subjects" . }}
{{- end }}

{{- define "hosted-bridge.rbac.keybroker.catalog" }}{{ include "hosted-bridge.rbac.backup.catalog" . }}{{ end }}
{{- define "hosted-bridge.rbac.ingress.home" }}{{ end }}
{{- define "hosted-bridge.rbac.operator.home" }}{{ end }}
