{{/* Where pods are and what goes before what: part of the pods' specifications. */}}

{{- define "hosted-bridge.ha.spread" -}}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {app.kubernetes.io/name: hosted-bridge, app.kubernetes.io/component: {{ .component }}}
{{- end }}

{{- define "hosted-bridge.operator.ha.pod" -}}
{{ include "hosted-bridge.ha.spread" (dict "component" "operator") }}
{{- end }}

{{- define "hosted-bridge.keybroker.ha.pod" -}}
{{ include "hosted-bridge.ha.spread" (dict "component" "keybroker") }}
{{- end }}

{{- define "hosted-bridge.ingress.ha.pod" -}}
{{ include "hosted-bridge.ha.spread" (dict "component" "ingress") }}
{{- end }}
