// A module of its own, which has no package: so the applications are no part of what go install downloads.
module github.com/dlxtop/dlxtop/clients/apps

go 1.26.0
