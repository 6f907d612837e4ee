{{/* Where pods are and what goes before what: part of the pods' specifications. */}}

{{/*
The name of a PriorityClass: the values' own, or where the chart makes them one
that is the installation's. PriorityClasses have no namespace: installations
beside each other, each in its namespaces, have names of their own. Call with
(dict "root" $ "of" "system"); empty for none.
*/}}
{{- define "hosted-bridge.ha.class" -}}
{{- $classes := .root.Values.priorityClasses -}}
{{- with get $classes .of -}}
{{- . -}}
{{- else -}}
{{- if $classes.create -}}
hosted-bridge-{{ .of }}{{ if .root.Values.watchNamespaces }}-{{ .root.Release.Namespace }}{{ end }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Over nodes and over zones, as far as there are some. */}}
{{- define "hosted-bridge.ha.pod" -}}
{{- with include "hosted-bridge.ha.class" (dict "root" .root "of" "system") -}}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {app.kubernetes.io/name: hosted-bridge, app.kubernetes.io/component: {{ $.component }}}
  # Pods of the revision before do not count.
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{/*
The operator ends its reconciliations within 30 s and then gives its lease back,
so that another replica leads at once.
*/}}
{{- define "hosted-bridge.operator.ha.pod" -}}
terminationGracePeriodSeconds: 45
{{ include "hosted-bridge.ha.pod" (dict "root" . "component" "operator") | trim }}
{{- end }}

{{- define "hosted-bridge.operator.ha.args" -}}
{{- with include "hosted-bridge.ha.class" (dict "root" . "of" "bridges") -}}
- --bridge-priority-class={{ . }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.keybroker.ha.pod" -}}
{{ include "hosted-bridge.ha.pod" (dict "root" . "component" "keybroker") | trim }}
{{- end }}

{{- define "hosted-bridge.ingress.ha.pod" -}}
{{ include "hosted-bridge.ha.pod" (dict "root" . "component" "ingress") | trim }}
{{- end }}

{{/* ingress.drainTimeout in seconds. */}}
{{- define "hosted-bridge.ingress.drainSeconds" -}}
{{- $n := regexFind "^[0-9]+" .Values.ingress.drainTimeout | int -}}
{{- ternary (mul $n 60) $n (hasSuffix "m" .Values.ingress.drainTimeout) -}}
{{- end }}
