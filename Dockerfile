# The broker in a container. It was written with care and not run: no Docker engine was at hand.
#
#   docker build -t assent .
#   docker run --rm --network host -v assent-state:/state assent
#
# With --network host the page is at 127.0.0.1:7717 of the host, as without a container. In a
# network of its own the broker must listen beyond loopback, which it refuses without a
# certificate: add  serve --listen 0.0.0.0:7717 --tls-cert … --tls-key …
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/ ./cmd/assent ./cmd/assent-hook \
 && mkdir -p /out/state && chmod 0700 /out/state

FROM scratch
COPY --from=build /out/assent /out/assent-hook /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/state /state
USER 65532:65532
ENV ASSENT_STATE_DIR=/state
VOLUME /state
EXPOSE 7717
ENTRYPOINT ["/usr/local/bin/assent"]
CMD ["serve", "--socket", "/state/hook.sock"]
