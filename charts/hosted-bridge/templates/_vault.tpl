{{/* HashiCorp Vault or OpenBao in place of the ring. */}}

{{- define "hosted-bridge.keybroker.vault.args" -}}
{{- with .Values.masterKey }}
{{- if ne .provider "local" }}
- --key-provider={{ .provider }}
{{- end }}
{{- with .vault }}
{{- if .address }}
- --vault-address={{ .address }}
- --vault-mount={{ .mount }}
- --vault-key={{ .key }}
{{- with .namespace }}
- --vault-namespace={{ . }}
{{- end }}
{{- if .role }}
- --vault-role={{ .role }}
- --vault-auth-mount={{ .authMount }}
{{- end }}
{{- if .tokenSecret }}
- --vault-token-file=/var/run/secrets/hosted-bridge-vault/token
{{- end }}
{{- if .caConfigMap }}
- --vault-ca-file=/etc/hosted-bridge/vault/ca.crt
{{- end }}
{{- if .insecure }}
- --vault-insecure
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.keybroker.vault.mounts" -}}
{{- with .Values.masterKey.vault }}
{{- if and .address .tokenSecret }}
- {name: vault-token, mountPath: /var/run/secrets/hosted-bridge-vault, readOnly: true}
{{- end }}
{{- if and .address .caConfigMap }}
- {name: vault-ca, mountPath: /etc/hosted-bridge/vault, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.keybroker.vault.volumes" -}}
{{- with .Values.masterKey.vault }}
{{- if and .address .tokenSecret }}
- name: vault-token
  secret: {secretName: {{ .tokenSecret }}, defaultMode: 0440}
{{- end }}
{{- if and .address .caConfigMap }}
- name: vault-ca
  configMap: {name: {{ .caConfigMap }}}
{{- end }}
{{- end }}
{{- end }}
