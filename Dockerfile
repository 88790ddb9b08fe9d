# The broker in a container. docs/docker.md says how to use it and what was tried.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# What assent version says; there is no repository in here to ask. make image fills them in.
ARG VERSION=devel
ARG COMMIT=
ARG DATE=
RUN ./internal/tool/release/build.sh /out "$VERSION" "$COMMIT" "$DATE" \
 && mkdir -p /out/state && chmod 0700 /out/state

FROM scratch
ARG VERSION=devel
ARG COMMIT=
ARG DATE=
LABEL org.opencontainers.image.version=${VERSION} org.opencontainers.image.revision=${COMMIT} org.opencontainers.image.created=${DATE}
# Whose files the state is: give your own id (--build-arg UID=$(id -u)) to share the hook socket.
ARG UID=65532
COPY --from=build /out/assent /out/assent-hook /out/assent-hook-strict /out/assent-contain /usr/local/bin/
COPY --from=build --chown=${UID}:${UID} /out/state /state
USER ${UID}:${UID}
ENV ASSENT_STATE_DIR=/state
VOLUME /state
EXPOSE 7717
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/usr/local/bin/assent", "health"]
ENTRYPOINT ["/usr/local/bin/assent"]
CMD ["serve"]
