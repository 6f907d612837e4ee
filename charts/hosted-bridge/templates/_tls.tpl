{{/* TLS of the ingress's own. */}}

{{/* The Secret with the ingress's certificate, empty without TLS. */}}
{{- define "hosted-bridge.tls.secret" -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- required "tls.mode secret needs tls.existingSecret" .Values.tls.existingSecret -}}
{{- else if eq .Values.tls.mode "certManager" -}}
hosted-bridge-ingress-tls
{{- end -}}
{{- end }}

{{- define "hosted-bridge.ingress.tls.args" -}}
{{- if include "hosted-bridge.tls.secret" . -}}
- --tls-cert-file=/var/run/secrets/hosted-bridge-tls/tls.crt
- --tls-key-file=/var/run/secrets/hosted-bridge-tls/tls.key
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.tls.mounts" -}}
{{- if include "hosted-bridge.tls.secret" . -}}
- {name: tls, mountPath: /var/run/secrets/hosted-bridge-tls, readOnly: true}
{{- end }}
{{- end }}

{{/* A pod waits for its Secret, so that it may be issued after it was made. */}}
{{- define "hosted-bridge.ingress.tls.volumes" -}}
{{- with include "hosted-bridge.tls.secret" . -}}
- name: tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* What the Service says of its port to who is in front. */}}
{{- define "hosted-bridge.ingress.appProtocol" -}}
{{- .Values.expose.appProtocol | default (ternary "http" "https" (eq .Values.tls.mode "none")) -}}
{{- end }}
