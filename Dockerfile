# An image of nothing but dlxtop and the certificates that TLS needs. The program runs as a user without rights or a home.
#   docker build --build-arg VERSION=v1.0.0 -t dlxtop .
#   docker run -it --rm -e DLXTOP_URL=amqp://user:password@broker:5672/vhost dlxtop --read-only
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
ARG VERSION=development COMMIT= DATE=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	-ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT -X main.date=$DATE" -o /dlxtop .

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /dlxtop /dlxtop
ENV TERM=xterm-256color
USER 65534:65534
ENTRYPOINT ["/dlxtop"]
