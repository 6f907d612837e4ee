{{/* Logins: whose access tokens ingresses take, and the server that gives them out. */}}

{{/* Not empty where somebody may log in. */}}
{{- define "hosted-bridge.oauth.enabled" -}}
{{- if or .Values.oauth.issuers .Values.oauth.server.enabled -}}
true
{{- end -}}
{{- end }}

{{/* Not empty where the groups of people are read. */}}
{{- define "hosted-bridge.oauth.groups" -}}
{{- $providers := ternary .Values.oauth.server.providers list .Values.oauth.server.enabled -}}
{{- range concat .Values.oauth.issuers $providers }}{{ if .groups }}true{{ end }}{{ end -}}
{{- end }}

{{/* Where logins are kept, as --oauth-config has it. */}}
{{- define "hosted-bridge.oauth.store" -}}
{{- if eq .Values.oauth.server.store.type "sqlite" -}}
sqlite:/var/lib/hosted-bridge-login/login.db
{{- else -}}
postgres:/var/run/secrets/hosted-bridge-login-store/url
{{- end -}}
{{- end }}

{{/* The file of --oauth-config. */}}
{{- define "hosted-bridge.config.oauth" -}}
{{- $oauth := .Values.oauth -}}
{{- $settings := dict "publicURL" (.Values.baseURL | trimSuffix "/") -}}
{{- if $oauth.caConfigMap }}{{ $_ := set $settings "caFile" "/etc/hosted-bridge/login-ca/ca.crt" }}{{ end -}}
{{- if $oauth.issuers }}{{ $_ := set $settings "issuers" $oauth.issuers }}{{ end -}}
{{- if $oauth.trustedNamespaces }}{{ $_ := set $settings "trustedNamespaces" $oauth.trustedNamespaces }}{{ end -}}
{{- if $oauth.server.enabled -}}
{{- $server := omit $oauth.server "enabled" -}}
{{- $_ := set $server "store" (include "hosted-bridge.oauth.store" .) -}}
{{- $providers := list -}}
{{- range $oauth.server.providers -}}
{{- $credentials := dict -}}
{{- if or .key (not .clientKey) }}{{ $_ := set $credentials "clientSecretFile" (printf "/etc/hosted-bridge/login/%s" .id) }}{{ end -}}
{{- if .clientKey }}{{ $_ := set $credentials "clientKeyFile" (printf "/etc/hosted-bridge/login/%s.key" .id) }}{{ end -}}
{{- $providers = append $providers (merge $credentials (omit . "existingSecret" "key" "clientKey")) -}}
{{- end -}}
{{- $_ := set $server "providers" $providers -}}
{{- $_ := set $server "registration" (merge (dict "maxClients" (int $oauth.server.registration.maxClients)) $oauth.server.registration) -}}
{{- $_ := set $server "onboarding" (merge (dict "mode" (include "hosted-bridge.onboarding.mode" .)) (omit $oauth.server.onboarding "tier" "servers")) -}}
{{- $_ := set $settings "server" $server -}}
{{- end -}}
oauth.yaml: |
  {{- toYaml $settings | nindent 2 }}
{{- end }}

{{- define "hosted-bridge.ingress.oauth.args" -}}
{{- if include "hosted-bridge.oauth.enabled" . -}}
- --oauth-config=/etc/hosted-bridge/oauth/oauth.yaml
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.oauth.mounts" -}}
{{- if include "hosted-bridge.oauth.enabled" . -}}
- {name: oauth, mountPath: /etc/hosted-bridge/oauth, readOnly: true}
{{- if .Values.oauth.caConfigMap }}
- {name: login-ca, mountPath: /etc/hosted-bridge/login-ca, readOnly: true}
{{- end }}
{{- if .Values.oauth.server.enabled }}
- {name: login, mountPath: /etc/hosted-bridge/login, readOnly: true}
{{- if eq .Values.oauth.server.store.type "sqlite" }}
- {name: login-store, mountPath: /var/lib/hosted-bridge-login}
{{- else }}
- {name: login-store, mountPath: /var/run/secrets/hosted-bridge-login-store, readOnly: true}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.oauth.volumes" -}}
{{- if include "hosted-bridge.oauth.enabled" . -}}
- name: oauth
  configMap: {name: hosted-bridge-oauth}
{{- if .Values.oauth.caConfigMap }}
- name: login-ca
  configMap: {name: {{ quote .Values.oauth.caConfigMap }}}
{{- end }}
{{- with .Values.oauth.server }}
{{- if .enabled }}
# The secrets and keys by which providers recognise this installation, each by the id
# of its provider. They are read at each login, so that a new one needs no restart.
- name: login
  projected:
    defaultMode: 0440
    sources:
    {{- range $provider := .providers }}
    - secret:
        name: {{ .existingSecret | quote }}
        items:
        {{- if or .key (not .clientKey) }}
        - {key: {{ .key | default "clientSecret" | quote }}, path: {{ .id | quote }}}
        {{- end }}
        {{- with .clientKey }}
        - {key: {{ . | quote }}, path: {{ printf "%s.key" $provider.id | quote }}}
        {{- end }}
    {{- end }}
- name: login-store
{{- if ne .store.type "sqlite" }}
  secret:
    secretName: {{ quote .store.postgres.existingSecret }}
    defaultMode: 0440
    items: [{key: {{ quote .store.postgres.key }}, path: url}]
{{- else if .store.sqlite.existingClaim }}
  persistentVolumeClaim: {claimName: {{ quote .store.sqlite.existingClaim }}}
{{- else }}
  # Gone with the pod: whoever was logged in logs in again.
  emptyDir: {sizeLimit: 1Gi}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* How one pod follows another. Two cannot have one database in a file. */}}
{{- define "hosted-bridge.ingress.strategy" -}}
{{- $store := .Values.oauth.server.store -}}
{{- if and .Values.oauth.server.enabled (eq $store.type "sqlite") $store.sqlite.existingClaim -}}
type: Recreate
{{- else -}}
rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
{{- end }}
{{- end }}

{{/* What an ingress reads at its start alone. */}}
{{- define "hosted-bridge.ingress.reads" -}}
{{- $reads := ternary (list "oauth") list (not (empty (include "hosted-bridge.oauth.enabled" .))) }}
{{- ternary (append $reads "scim") $reads (not (empty (include "hosted-bridge.scim.enabled" .))) | toJson }}
{{- end }}

{{- define "hosted-bridge.validate.oauth" -}}
{{- if include "hosted-bridge.oauth.enabled" . }}
{{- if not (regexMatch "^(https://([a-z0-9.-]+|\\[[0-9a-f:]+\\])|http://(localhost|127\\.0\\.0\\.1|\\[::1\\]))(:[1-9][0-9]*)?/?$" .Values.baseURL) }}
{{- fail (printf "baseURL is %s, but logins need an origin: use https:// and a host in lower case, optionally with a port, without a path; http:// is allowed only for localhost, 127.0.0.1 and [::1]" .Values.baseURL) }}
{{- end }}
{{- if regexMatch "^(https://.*:443|http://.*:80)/?$" .Values.baseURL }}
{{- fail (printf "baseURL is %s, but browsers leave out the default port: leave out the port" .Values.baseURL) }}
{{- end }}
{{- end }}
{{- if .Values.oauth.server.enabled }}
{{- with .Values.oauth.server }}
{{- if not .providers }}
{{- fail "oauth.server.enabled is true: set oauth.server.providers to at least one identity provider" }}
{{- end }}
{{- $ids := dict }}
{{- range .providers }}
{{- if hasKey $ids .id }}
{{- fail (printf "oauth.server.providers has two with the id %s: use different ids, because the redirect URL of a provider contains its id" .id) }}
{{- end }}
{{- $_ := set $ids .id true }}
{{- include "hosted-bridge.validate.oauth.credentials" . }}
{{- end }}
{{- end }}
{{- include "hosted-bridge.validate.oauth.store" . }}
{{- include "hosted-bridge.validate.onboarding" . }}
{{- end }}
{{- end }}

{{/* By what this installation proves to a provider who it is. */}}
{{- define "hosted-bridge.validate.oauth.credentials" -}}
{{- $method := .tokenEndpointAuthMethod | default "" }}
{{- if and .clientKeyID (not .clientKey) }}
{{- fail (printf "oauth.server.providers (%s) clientKeyID names a key, but clientKey is not set: set it to the key of the Secret that has the private key" .id) }}
{{- end }}
{{- if and (eq $method "private_key_jwt") (not .clientKey) }}
{{- fail (printf "oauth.server.providers (%s) tokenEndpointAuthMethod is private_key_jwt: set clientKey to the key of the Secret that has the private key" .id) }}
{{- end }}
{{- if and (hasPrefix "client_secret_" $method) .clientKey (not .key) }}
{{- fail (printf "oauth.server.providers (%s) tokenEndpointAuthMethod is %s, but only clientKey is set: set key to the key of the Secret that has the client's secret, or tokenEndpointAuthMethod to private_key_jwt" .id $method) }}
{{- end }}
{{- if and .key .clientKey (not $method) }}
{{- fail (printf "oauth.server.providers (%s) has a secret (key) and a private key (clientKey): set tokenEndpointAuthMethod to the one that the provider expects, or leave one of them out" .id) }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.validate.oauth.store" -}}
{{- with .Values.oauth.server.store }}
{{- if not (has .type (list "sqlite" "postgres")) }}
{{- fail (printf "oauth.server.store.type is %s: sqlite and postgres are accepted" .type) }}
{{- end }}
{{- if and (eq .type "sqlite") (gt (int $.Values.ingress.replicas) 1) }}
{{- fail (printf "oauth.server.store.type is sqlite, a file of one ingress, but ingress.replicas is %d: the other replicas would not know a login. Set oauth.server.store.type to postgres, or ingress.replicas to 1" (int $.Values.ingress.replicas)) }}
{{- end }}
{{- if and (eq .type "postgres") (not .postgres.existingSecret) }}
{{- fail "oauth.server.store.type is postgres: set oauth.server.store.postgres.existingSecret to a Secret with the database's URL" }}
{{- end }}
{{- if and (ne .type "postgres") .postgres.existingSecret }}
{{- fail (printf "oauth.server.store.postgres.existingSecret is set, but oauth.server.store.type is %s: set it to postgres, or leave the Secret out" .type) }}
{{- end }}
{{- if and (ne .type "sqlite") .sqlite.existingClaim }}
{{- fail (printf "oauth.server.store.sqlite.existingClaim is set, but oauth.server.store.type is %s: set it to sqlite, or leave the claim out" .type) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secrets that must be there, by where the values name them. */}}
{{- define "hosted-bridge.oauth.secrets" -}}
{{- $named := dict -}}
{{- if .Values.oauth.server.enabled -}}
{{- with .Values.oauth.server.store -}}
{{- if ne .type "sqlite" }}{{ $_ := set $named "oauth.server.store.postgres.existingSecret" .postgres.existingSecret }}{{ end -}}
{{- end -}}
{{- range .Values.oauth.server.providers }}{{ $_ := set $named (printf "oauth.server.providers (%s) existingSecret" .id) .existingSecret }}{{ end -}}
{{- end -}}
{{- toJson $named -}}
{{- end }}
