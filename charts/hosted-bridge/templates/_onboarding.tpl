{{/* What a first login may make of HostedBridges. */}}

{{/* off, invite or auto. Some who read YAML take the word off for false. */}}
{{- define "hosted-bridge.onboarding.mode" -}}
{{- $server := ((.Values.oauth).server) | default dict }}
{{- ternary (($server.onboarding).mode | default "off") "off" ($server.enabled | default false) }}
{{- end }}

{{/* Where mode auto makes them. */}}
{{- define "hosted-bridge.onboarding.namespace" -}}
{{- $namespace := .Values.oauth.server.onboarding.namespace }}
{{- if not $namespace }}
{{- fail "oauth.server.onboarding.mode is auto: set oauth.server.onboarding.namespace to the namespace for the HostedBridges that logins create" }}
{{- end }}
{{- if eq $namespace .Release.Namespace }}
{{- fail "oauth.server.onboarding.namespace is that of the installation: set it to a namespace of tenants" }}
{{- end }}
{{- if and .Values.watchNamespaces (not (has $namespace .Values.watchNamespaces)) }}
{{- fail (printf "oauth.server.onboarding.namespace is %s, which is not in watchNamespaces: the operator would not see the HostedBridges that logins create there" $namespace) }}
{{- end }}
{{- $namespace }}
{{- end }}

{{/* Whether the operator makes a BridgeProfile for these HostedBridges. */}}
{{- define "hosted-bridge.onboarding.profile" -}}
{{- if eq (include "hosted-bridge.onboarding.mode" .) "auto" }}
{{- with .Values.oauth.server.onboarding }}
{{- if or .tier .servers }}true{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The file of --onboarding-profile: the BridgeProfile that the tier and the servers stand for. */}}
{{- define "hosted-bridge.config.onboarding" -}}
{{- $onboarding := .Values.oauth.server.onboarding -}}
{{- $namespace := include "hosted-bridge.onboarding.namespace" . | trim -}}
{{- $spec := dict "who" (dict "namespaces" (list $namespace) "groups" (list (dict "fromNamespace" $namespace "value" "onboarded"))) -}}
{{- if $onboarding.tier }}{{ $_ := set $spec "tier" $onboarding.tier }}{{ end -}}
{{- if $onboarding.servers }}{{ $_ := set $spec "servers" $onboarding.servers }}{{ end -}}
profile.yaml: |
  {{- toYaml (dict "apiVersion" "hostedbridge.dev/v1alpha1" "kind" "BridgeProfile" "spec" $spec) | nindent 2 }}
{{- end }}

{{- define "hosted-bridge.validate.onboarding" -}}
{{- if eq (include "hosted-bridge.onboarding.mode" .) "auto" }}
{{- $tier := .Values.oauth.server.onboarding.tier }}
{{- if and $tier (not (get .Values.tiers $tier)) }}
{{- $names := list }}
{{- range $name, $of := .Values.tiers }}{{ if $of }}{{ $names = append $names $name }}{{ end }}{{ end }}
{{- fail (printf "oauth.server.onboarding.tier is %s, and tiers has %s: use one of them, or add the tier" $tier (join ", " $names)) }}
{{- end }}
{{- end }}
{{- end }}
