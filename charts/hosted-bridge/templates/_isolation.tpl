{{/* Whether tenants are kept apart by the cluster's network. */}}

{{- define "hosted-bridge.operator.isolation.args" -}}
{{- with .Values.isolation.networkPolicy }}
- --network-policy={{ .enabled }}
{{- if .enabled }}
- --network-policy-probe={{ .probe }}
{{- if .require }}
- --require-network-policy
{{- end }}
- --dns-namespace={{ .dns.namespace }}
- --dns-pod-labels={{ range $i, $name := keys .dns.podLabels | sortAlpha }}{{ if $i }},{{ end }}{{ $name }}={{ get $.Values.isolation.networkPolicy.dns.podLabels $name }}{{ end }}
- --dns-port={{ .dns.port }}
{{- include "hosted-bridge.flags" (dict "flag" "dns-cidr" "list" .dns.cidrs) }}
{{- include "hosted-bridge.flags" (dict "flag" "scrape-namespace" "list" .monitoringNamespaces) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where the operator's pod is, which the pods of the probe connect to. */}}
{{- define "hosted-bridge.operator.isolation.env" -}}
{{- if .Values.isolation.networkPolicy.enabled -}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
{{- end }}
{{- end }}

{{/* In which namespaces an admission policy holds: those that the installation watches. */}}
{{- define "hosted-bridge.isolation.where" -}}
{{- with .Values.watchNamespaces -}}
namespaceSelector:
  matchExpressions:
  - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }}}
{{- end }}
{{- end }}

{{/* The pods of all tenants, as a peer of a policy in the installation's namespace. */}}
{{- define "hosted-bridge.isolation.tenants" -}}
{{- if .Values.watchNamespaces -}}
- namespaceSelector:
    matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson .Values.watchNamespaces }}}
{{- else -}}
- namespaceSelector: {}
{{- end }}
  podSelector:
    matchLabels: {app.kubernetes.io/name: hosted-bridge, app.kubernetes.io/component: bridge}
{{- end }}

{{/* Lets namespaces read metrics at a port: call with (dict "root" $ "port" 8082). */}}
{{- define "hosted-bridge.isolation.scrapers" -}}
{{- with .root.Values.isolation.networkPolicy.monitoringNamespaces -}}
- from:
  - namespaceSelector:
      matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }}}
  ports:
  - {protocol: TCP, port: {{ $.port }}}
{{- end }}
{{- end }}

{{/* Lets pods ask for names. */}}
{{- define "hosted-bridge.isolation.resolvers" -}}
{{- with .Values.isolation.networkPolicy.dns -}}
- to:
  - namespaceSelector:
      matchLabels: {kubernetes.io/metadata.name: {{ .namespace }}}
    podSelector:
      matchLabels: {{ toJson .podLabels }}
  {{- range .cidrs }}
  - ipBlock: {cidr: {{ . }}}
  {{- end }}
  ports:
  - {protocol: UDP, port: {{ .port }}}
  - {protocol: TCP, port: {{ .port }}}
{{- end }}
{{- end }}
