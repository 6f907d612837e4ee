{{/*
What templates share. Names are not made of the release's name: processes
recognise each other by their ServiceAccounts and Services, and there is one
installation in a namespace.
*/}}

{{/* Labels of every object. */}}
{{- define "hosted-bridge.labels" -}}
app.kubernetes.io/name: hosted-bridge
app.kubernetes.io/part-of: hosted-bridge
{{- end }}

{{/* Labels of one component's objects: call with (dict "component" "ingress"). */}}
{{- define "hosted-bridge.selector" -}}
app.kubernetes.io/name: hosted-bridge
app.kubernetes.io/component: {{ .component }}
{{- end }}
