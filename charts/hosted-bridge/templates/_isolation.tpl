{{/* Whether tenants are kept apart by the cluster's network. */}}

{{- define "hosted-bridge.operator.isolation.args" }}{{ end }}
